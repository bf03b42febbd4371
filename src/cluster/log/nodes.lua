-- The nodes that have asked for leases (log-schema.ts, nodes). Values that are none of ours are removed, and so are the oldest of more than MAX_NODES.
-- KEYS: node.
-- Returns node and value of each.

-- So many are not nodes. Those that are here ask again in a moment.
if redis.call('HLEN', KEYS[1]) > 100 * MAX_NODES then redis.call('DEL', KEYS[1]) end
local all = redis.call('HGETALL', KEYS[1])
local found = {}
for i = 1, #all, 2 do
  local seen = #all[i] <= MAX_NAME and #all[i + 1] <= 2 * MAX_URL and whole(string.match(all[i + 1], '^(%d+) .* %S+$'), MAX_COUNT)
  if seen then found[#found + 1] = {all[i], all[i + 1], seen}
  else redis.call('HDEL', KEYS[1], all[i]) end
end
if #found > MAX_NODES then table.sort(found, function(one, other) return one[3] > other[3] end) end
local answer = {}
for i, one in ipairs(found) do
  if i > MAX_NODES then redis.call('HDEL', KEYS[1], one[1])
  else answer[#answer + 1], answer[#answer + 2] = one[1], one[2] end
end
return answer
