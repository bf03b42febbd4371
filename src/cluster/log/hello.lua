-- Begins an epoch of the data, or continues the present one (log-schema.ts, Joining).
-- KEYS: epoch, meta, version, last, done, log.
-- ARGV: a new epoch; the epoch that this node knows ('': none), its position in the log and the id there; its last stamp.
-- Returns epoch, seq, 1 if the node's position is still in the log.

clear(KEYS[1], 'string')
for i = 2, 5 do clear(KEYS[i], 'hash') end
clear(KEYS[6], 'stream')
local epoch = redis.call('STRLEN', KEYS[1]) <= MAX_NAME and redis.call('GET', KEYS[1])
local seq = whole(redis.call('HGET', KEYS[2], 'seq') or '0', MAX_COUNT)
-- The last id that was ever in it: later ones have to be higher.
local topSeq = 0
if redis.call('EXISTS', KEYS[6]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[6])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then topSeq = tonumber(string.match(info[i + 1], '^(%d+)-')) end
  end
end
local goesOn = 0
if not seq or topSeq > seq then
  -- Written by another program: new entries follow it, or begin an empty log if its number is too high.
  if topSeq > MAX_COUNT then redis.call('DEL', KEYS[6]) end
  seq = topSeq > MAX_COUNT and 0 or topSeq
  redis.call('HSET', KEYS[2], 'seq', string.format('%.0f', seq))
  epoch = nil
end
if not epoch then
  epoch = ARGV[1]
  redis.call('SET', KEYS[1], epoch)
elseif epoch == ARGV[2] then
  local there = redis.call('XRANGE', KEYS[6], ARGV[3] .. '-0', ARGV[3] .. '-0')
  local isOther = false
  if there[1] and ARGV[4] ~= '' then
    for i = 1, #there[1][2], 2 do
      if there[1][2][i] == 'p' then isOther = there[1][2][i + 1] ~= ARGV[4] end
    end
  end
  if tonumber(ARGV[3]) > seq or isOther then
    epoch = ARGV[1]
    redis.call('SET', KEYS[1], epoch)
  elseif there[1] or tonumber(ARGV[3]) == seq then
    goesOn = 1
  end
end
local now = nowMs()
local stamp = stampOf(redis.call('HGET', KEYS[2], 'stamp') or '0', now)
-- Always written, so that a node does not join a server that accepts no changes.
redis.call('HSET', KEYS[2], 'stamp', string.format('%.0f', math.max(stamp, stampOf(ARGV[5], now))))
return {epoch, seq, goesOn}
