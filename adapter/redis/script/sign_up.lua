-- ARGV: user, '1' with an account, account, session, whose digest is empty if
-- there is none, locale, revocation
local u, a, s = args(2, 5), args(8, 12), args(20, #SESSION)
local has_a, has_s = ARGV[7] == '1', s[3] ~= ''
if user_taken(u) or has_a and account_taken(a) or has_s and session_taken(s) then return 'CONFLICT' end
put_user(u)
local n = 20 + #SESSION
local locale = ARGV[n]
if locale ~= '' then put_person(u[1], {'', '', '', '', '', locale}) end
if has_a then put_account(a) end
if has_s then put_session(s) end
revoke(args(n + 1, 4))
return with_epochs(u)
