-- KEYS: the epochs of a user
return {call('HGET', KEYS[1], 'epoch') or '0'}
