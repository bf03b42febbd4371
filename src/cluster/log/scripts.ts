/**
 * The scripts that Redis runs for us: each is atomic, whichever node asks. They run on Redis 6.2 and later, and on Valkey.
 *
 *   epoch   which life of the data this is; another one: it was flushed, or restored from a backup
 *   meta    seq: the number of the log's last entry; stamp: the last that a record was given (feed/sequence.ts)
 *   version channel → version          last  channel → `stamp JSON`, what all agree on          done  `node channel` → id of the last change of it
 *   owner   channel → who feeds it, as JSON: node, url, epoch, until, renewed, rank, before (the owner before it), facts (their version)
 *   facts   channel → what listeners' nodes must know of its audio, as the owner has said it last
 *   node    node → when it was here last, unix milliseconds, and its url
 *   log     a stream with the id `seq-0`: c channel ('' : a bell, see LEASE), v version, p id, n node, s stamp (0: no record), o what all agree on, h history
 */

import { FIRST_PLAUSIBLE_MS } from '../../base/steady-time.js';
import { mostMomentMs, mostVersion } from '../../metadata/record-schema.js';

/** A whole number up to `most`, else nil. Any client of Redis may have written anything: what does not match counts as absent. */
const WHOLE = `
local function whole(text, most)
  local n = tonumber(text)
  if n and n >= 0 and n <= most and n == math.floor(n) then return n end
  return nil
end
local function nowMs()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
-- A key of another type is none of ours, and would stop all that follows.
local function clear(key, kind)
  local there = redis.call('TYPE', key).ok
  if there ~= kind and there ~= 'none' then redis.call('DEL', key) end
end
`;
/** Of what is counted (../../metadata/record-schema.ts). */
const MAX_COUNT = (2 ** 52).toFixed(0);
/** Stamps are close to the clock, versions to what a node knows: the same as mostMomentMs and mostVersion, which nodes go by. */
const STAMPS = `
local function stampOf(text, now)
  return whole(text, math.max(now, ${FIRST_PLAUSIBLE_MS}) + ${mostMomentMs(0) - FIRST_PLAUSIBLE_MS}) or 0
end
`;
const MAX_VERSION = `math.max(${mostVersion(0)}, tonumber(ARGV[3]) + ${mostVersion(2 ** 50) - 2 ** 50})`;

/** How long a lease may last at most, whatever a node asks for. */
export const MAX_LEASE_MS = 60_000;

export const KEYS = ['epoch', 'meta', 'version', 'last', 'done', 'log'] as const;

/**
 * Begins, or goes on with, a life of the data. ARGV: a new epoch; the epoch, the log's place and the id there that this node has (the first '' :
 * none); its last stamp.
 * @returns epoch, seq, 1: the node's place is in the log still
 */
export const HELLO = `${WHOLE}${STAMPS}
clear(KEYS[1], 'string')
for i = 2, 5 do clear(KEYS[i], 'hash') end
clear(KEYS[6], 'stream')
local epoch = redis.call('GET', KEYS[1])
local seq = whole(redis.call('HGET', KEYS[2], 'seq') or '0', ${MAX_COUNT})
-- The last that ever was in it: what follows has to be higher.
local topSeq = 0
if redis.call('EXISTS', KEYS[6]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[6])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then topSeq = tonumber(string.match(info[i + 1], '^(%d+)-')) end
  end
end
local goesOn = 0
if not seq or topSeq > seq then
  -- Another program wrote it: new entries go behind it, or into an empty log where its number is too high.
  if topSeq > ${MAX_COUNT} then redis.call('DEL', KEYS[6]) end
  seq = topSeq > ${MAX_COUNT} and 0 or topSeq
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
-- Always: a server that takes no changes must not be joined.
redis.call('HSET', KEYS[2], 'stamp', string.format('%.0f', math.max(stamp, stampOf(ARGV[5], now))))
return {epoch, seq, goesOn}
`;

/**
 * Commits a change where the channel's version is still that on which it was decided. ARGV: epoch, channel, that version, the new one, 1: it has a
 * record, the node's last stamp, what all agree on, history, id, node, how many entries the log keeps.
 * @returns 'ok' and seq; 'stale' and the version there; 'done' and the log's last seq: it is in the log already; 'epoch': it is another
 */
export const COMMIT = `${WHOLE}${STAMPS}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'epoch', 0} end
local field = ARGV[10] .. ' ' .. ARGV[2]
if redis.call('HGET', KEYS[5], field) == ARGV[9] then
  return {'done', tonumber(redis.call('HGET', KEYS[2], 'seq') or '0')}
end
local version = whole(redis.call('HGET', KEYS[3], ARGV[2]) or '0', ${MAX_VERSION})
if version and version < tonumber(ARGV[3]) then
  -- Where the last value is not of that version either, it was taken away or set.
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
`;

/** The keys of LEASE. */
export const LEASE_KEYS = ['owner', 'facts', 'node', 'meta', 'log'] as const;

/**
 * Who feeds which channel: asks for channels, renews what this node has, and says how it is. ARGV: node, its url, how long a lease lasts, after how
 * long without a renewal an owner that cannot be reached has lost it, milliseconds; then for each channel: its key, the wish, the rank of the source
 * on air there
 * (less is better), facts ('' : as before), the version of the facts that the node knows ('' : none, or it has the lease itself).
 * Wishes: 0: not to have it; 1: only where nobody has it; 2: it has a source on air, or about to be; 3: the same, and the owner cannot be reached.
 * 4: what it has it keeps, and is away for a moment.
 * An epoch begins with the second in which it is first asked for the channel: it rises over lives of the data as well.
 * @returns for each channel: node, url, epoch, node and url of the owner before, version of the facts, facts ('' : known); and at the end '1' where
 * another node has asked in this one's name a moment ago. Where there is another owner, or news of one, that stands in the log as a bell: all nodes
 * ask at once.
 */
export const LEASE = `${WHOLE}
for i = 1, 3 do clear(KEYS[i], 'hash') end
local function ownerOf(text, now)
  local nobody = {node = '', url = '', epoch = math.floor(now / 1000), till = 0, renewed = 0, rank = 999, before = '', beforeUrl = '', facts = 0}
  if not text then return nobody end
  local ok, owner = pcall(cjson.decode, text)
  if not ok or type(owner) ~= 'table' then return nobody end
  for name, value in pairs(nobody) do
    if type(owner[name]) ~= type(value) then return nobody end
    -- A rank may lie between two places.
    if type(value) == 'number' and not whole(math.floor(owner[name]), ${MAX_COUNT}) then return nobody end
  end
  -- Longer than any lease that was given: the clock of Redis was set back, or another program wrote it.
  if owner.till > now + 2 * ${MAX_LEASE_MS} or owner.renewed > now + 2 * ${MAX_LEASE_MS} then return nobody end
  return owner
end
local node, url, lasts, stale = ARGV[1], ARGV[2], math.min(tonumber(ARGV[3]), ${MAX_LEASE_MS}), tonumber(ARGV[4])
local now = nowMs()
local answer = {}
local isNews = false
local was = redis.call('HGET', KEYS[3], node)
local isTwice = 0
if was then
  local seen, at = string.match(was, '^(%d+) (.*)$')
  if seen and at ~= url and now - tonumber(seen) < 2000 then isTwice = 1 end
end
redis.call('HSET', KEYS[3], node, string.format('%.0f', now) .. ' ' .. url)
for i = 5, #ARGV, 5 do
  local channel, wish, rank, facts, known = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 3], ARGV[i + 4]
  local owner = ownerOf(redis.call('HGET', KEYS[1], channel), now)
  local isMine = owner.node == node
  local changed = false
  if owner.node == '' and owner.before == '' and owner.renewed == 0 and known ~= '' then
    -- The data was lost. The owner will ask in a moment; until then its lease counts as just renewed.
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
    -- It is another node's.
  elseif not isAlive or ((wish == '2' or wish == '3') and rank < owner.rank) or (wish == '3' and now - owner.renewed > stale) then
    owner.before, owner.beforeUrl = owner.node, owner.url
    owner.node, owner.url, owner.epoch = node, url, owner.epoch + 1
    owner.till, owner.renewed, owner.rank = now + lasts, now, rank
    isMine = true
    changed = true
    isNews = true
  end
  if isMine and facts ~= '' then
    -- It rises from one life of the data to the next, also where that lasted less than a second: two with the same number would be taken for one.
    owner.facts = math.max(owner.facts, now) + 1
    redis.call('HSET', KEYS[2], channel, facts)
    changed = true
    isNews = true
  end
  if changed then redis.call('HSET', KEYS[1], channel, cjson.encode(owner)) end
  local said = ''
  local version = string.format('%.0f', owner.facts)
  if not isMine and version ~= known then said = redis.call('HGET', KEYS[2], channel) or '' end
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = owner.node, owner.url, string.format('%.0f', owner.epoch)
  answer[n + 4], answer[n + 5], answer[n + 6], answer[n + 7] = owner.before, owner.beforeUrl, version, said
end
if isNews then
  local seq = string.format('%.0f', redis.call('HINCRBY', KEYS[4], 'seq', 1))
  redis.call('XADD', KEYS[5], 'MAXLEN', '~', '20000', seq .. '-0', 'c', '', 'p', node .. ' ' .. seq)
end
answer[#answer + 1] = tostring(isTwice)
return answer
`;
