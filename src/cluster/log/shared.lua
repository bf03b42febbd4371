-- Functions of all scripts. Any client of Redis may have written anything: a malformed value counts as absent.

-- A whole number up to `most`, else nil.
local function whole(text, most)
  local n = tonumber(text)
  if n and n >= 0 and n <= most and n == math.floor(n) then return n end
  return nil
end

-- Unix milliseconds.
local function nowMs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A key of another type is not ours, and would make all following commands fail.
local function clear(key, kind)
  local there = redis.call('TYPE', key).ok
  if there ~= kind and there ~= 'none' then redis.call('DEL', key) end
end

-- Stamps are close to the clock.
local function stampOf(text, now)
  return whole(text, math.max(now, FIRST_PLAUSIBLE_MS) + CENTURY_MS) or 0
end
