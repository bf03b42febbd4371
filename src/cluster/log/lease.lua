-- Which node feeds which channel: a node asks for leases, renews its own, and reports its state (log-schema.ts, LeaseQuestion).
-- KEYS: owner, facts, node, meta, log.
-- ARGV: node, its url, its process, how long a lease lasts, and how long without a renewal if the owner cannot be reached either, milliseconds; then for each
-- channel: its key, the wish, the rank of the source on air at the node, facts, the version of the facts that the node knows.
-- The epochs of a lease start at the second of the first request for the channel, so that they rise even after the data was lost.
-- Returns for each channel: node, url, epoch, node and url of the former owner, version of the facts, facts ('': known); and at the end '1' if
-- another process used the same name a moment ago. A change of owner, or of its facts, is announced in the log by a bell, so that all nodes
-- ask at once.

for i = 1, 3 do clear(KEYS[i], 'hash') end
local function ownerOf(text, now)
  local noOwner = {node = '', url = '', epoch = math.floor(now / 1000), till = 0, renewed = 0, rank = 999, before = '', beforeUrl = '', facts = 0}
  if not text then return noOwner end
  local ok, owner = pcall(cjson.decode, text)
  if not ok or type(owner) ~= 'table' then return noOwner end
  for name, value in pairs(noOwner) do
    if type(owner[name]) ~= type(value) then return noOwner end
    -- A rank may lie between two places.
    if type(value) == 'number' and not whole(math.floor(owner[name]), MAX_COUNT) then return noOwner end
  end
  -- Longer than any lease: the clock of Redis was set back, or another program wrote it.
  if owner.till > now + 2 * MAX_LEASE_MS or owner.renewed > now + 2 * MAX_LEASE_MS then return noOwner end
  return owner
end
local node, url, run, lasts, stale = ARGV[1], ARGV[2], ARGV[3], math.min(tonumber(ARGV[4]), MAX_LEASE_MS), tonumber(ARGV[5])
local now = nowMs()
local answer, left = {}, ANSWER_BYTES
local isNews = false
local was = redis.call('HGET', KEYS[3], node)
local isNameTaken = 0
if was then
  local seen, by = string.match(was, '^(%d+) .* (%S+)$')
  if seen and by ~= run and now - tonumber(seen) < 2000 then isNameTaken = 1 end
end
redis.call('HSET', KEYS[3], node, string.format('%.0f', now) .. ' ' .. url .. ' ' .. run)
for i = 6, #ARGV, 5 do
  local channel, wish, rank, facts, known = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3], ARGV[i + 4]
  local isOurs = redis.call('HSTRLEN', KEYS[1], channel) <= 4 * MAX_URL
  local owner = ownerOf(isOurs and redis.call('HGET', KEYS[1], channel), now)
  local isMine = owner.node == node
  local changed = false
  if owner.node == '' and owner.before == '' and owner.renewed == 0 and known ~= '' then
    -- The data was lost. The owner will ask soon; until then its lease counts as just renewed.
    owner.till, owner.renewed, owner.rank = now + lasts, now, 0
    changed = true
  end
  local isAlive = owner.till > now and (owner.node ~= '' or known ~= '')
  if wish == '0' then
    if isMine then
      owner.before, owner.beforeUrl, owner.node, owner.url, owner.till, owner.rank = owner.node, owner.url, '', '', 0, 999
      owner.epoch = owner.epoch + 1
      isMine = false
      changed = true
      isNews = true
    end
  elseif isMine then
    owner.till, owner.renewed, owner.rank, owner.url = now + lasts, now, rank, url
    if wish == '4' then owner.renewed = now + lasts end
    changed = true
  elseif wish == '4' then
    -- Another node has it.
  elseif not isAlive or ((wish == '2' or wish == '3') and rank < owner.rank) or (wish == '3' and now - owner.renewed > stale) then
    owner.before, owner.beforeUrl = owner.node, owner.url
    owner.node, owner.url, owner.epoch = node, url, owner.epoch + 1
    owner.till, owner.renewed, owner.rank = now + lasts, now, rank
    isMine = true
    changed = true
    isNews = true
  end
  if isMine and facts ~= '' then
    -- It rises even if the former epoch lasted less than a second, since two owners with the same number would be taken for one.
    owner.facts = math.max(owner.facts, now) + 1
    redis.call('HSET', KEYS[2], channel, facts)
    changed = true
    isNews = true
  end
  if changed then redis.call('HSET', KEYS[1], channel, cjson.encode(owner)) end
  local said = ''
  local version = string.format('%.0f', owner.facts)
  if not isMine and version ~= known then
    local bytes = redis.call('HSTRLEN', KEYS[2], channel)
    -- What does not fit is said the next time.
    if bytes <= math.min(left, 4 * MAX_FACTS) then said = redis.call('HGET', KEYS[2], channel) or '' end
    left = left - #said
  end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = owner.node, owner.url, string.format('%.0f', owner.epoch)
  answer[n + 4], answer[n + 5], answer[n + 6], answer[n + 7] = owner.before, owner.beforeUrl, version, said
end
if isNews then
  local seq = string.format('%.0f', redis.call('HINCRBY', KEYS[4], 'seq', 1))
  redis.call('XADD', KEYS[5], 'MAXLEN', '~', '20000', seq .. '-0', 'c', '', 'p', node .. ' ' .. seq)
end
answer[#answer + 1] = tostring(isNameTaken)
return answer
