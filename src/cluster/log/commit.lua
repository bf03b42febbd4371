-- Commits a change if the channel still has the version on which it was decided (log-schema.ts, Commit).
-- KEYS: epoch, meta, version, last, done, log.
-- ARGV: epoch, channel, that version, the new one, 1 if it has a record, the node's last stamp, common state, history, id, node, how many
-- entries the log keeps.
-- Returns 'ok' and seq; 'stale' and the version there; 'done' and the log's last seq if it is in the log already; 'epoch' if that has changed.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'epoch', 0} end
local field = ARGV[10] .. ' ' .. ARGV[2]
if redis.call('HGET', KEYS[5], field) == ARGV[9] then
  return {'done', tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')}
end
local version = whole(redis.call('HGET', KEYS[3], ARGV[2]) or '0', math.max(MAX_VERSION, tonumber(ARGV[3]) + MAX_VERSIONS_MISSED))
if version and version < tonumber(ARGV[3]) then
  -- If the last value does not have that version either, it was removed or set by another program.
  local text = redis.call('HGET', KEYS[4], ARGV[2])
  local ok, last = pcall(cjson.decode, string.match(text or '0 {}', ' (.*)$') or '')
  local state = ok and type(last) == 'table' and type(last.state) == 'table' and last.state or {}
  if (state.version or 0) ~= version then version = nil end
end
if version and version ~= tonumber(ARGV[3]) then return {'stale', version} end
local stamp = '0'
if ARGV[5] == '1' then
  local now = nowMs()
  local last = stampOf(redis.call('HGET', KEYS[2], 'stamp') or '0', now)
  stamp = string.format('%.0f', math.max(now, last + 1, stampOf(ARGV[6], now) + 1))
  redis.call('HSET', KEYS[2], 'stamp', stamp)
end
local seq = redis.call('HINCRBY', KEYS[2], 'seq', 1)
redis.call('HSET', KEYS[3], ARGV[2], ARGV[4])
redis.call('HSET', KEYS[4], ARGV[2], stamp .. ' ' .. ARGV[7])
redis.call('HSET', KEYS[5], field, ARGV[9])
redis.call('XADD', KEYS[6], 'MAXLEN', '~', ARGV[11], string.format('%.0f', seq) .. '-0',
  'c', ARGV[2], 'v', ARGV[4], 'p', ARGV[9], 'n', ARGV[10], 's', stamp, 'o', ARGV[7], 'h', ARGV[8])
return {'ok', seq}
