-- The last values of channels (log-schema.ts, last).
-- KEYS: last. ARGV: the channels.
-- Returns channel and value of the first of them that have one, as many as fit in an answer. One that is too long for any is '': malformed.

local found, left = {}, ANSWER_BYTES
for i = 1, #ARGV do
  local bytes = redis.call('HSTRLEN', KEYS[1], ARGV[i])
  local isShort = bytes <= MAX_VALUE_BYTES
  if isShort and bytes > left and #found > 0 then break end
  local text = isShort and redis.call('HGET', KEYS[1], ARGV[i])
  if text or not isShort then
    found[#found + 1], found[#found + 2] = ARGV[i], text or ''
    left = left - (isShort and bytes or 0)
  end
end
return found
