-- Entries of the log one by one, however long they are (log-schema.ts, entriesAfter).
-- KEYS: log. ARGV: the id after which, at most how many.
-- Returns them as XRANGE does, as many as fit in an answer. Of one that is too long for any it returns the short fields: it is skipped (log-entry.ts).

local found, left, after = {}, ANSWER_BYTES, ARGV[1]
while #found < tonumber(ARGV[2]) do
  local entry = redis.call('XRANGE', KEYS[1], '(' .. after, '+', 'COUNT', 1)[1]
  if not entry then break end
  local fields, bytes, short = entry[2], 0, {}
  for i = 1, #fields, 2 do
    bytes = bytes + #fields[i] + #fields[i + 1]
    if #short < 32 and #fields[i] + #fields[i + 1] <= 2 * MAX_NAME then
      short[#short + 1], short[#short + 2] = fields[i], fields[i + 1]
    end
  end
  if bytes > MAX_VALUE_BYTES then entry, bytes = {entry[1], short}, 0 end
  if bytes > left and #found > 0 then break end
  found[#found + 1], left, after = entry, left - bytes, entry[1]
end
return found
