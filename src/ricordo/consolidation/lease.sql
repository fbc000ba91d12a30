-- name: claim
-- Take the thread's lease where nobody holds it, or the holder has gone silent.
UPDATE ricordo.thread
SET lease_token = %(token)s::uuid, lease_until = now() + make_interval(secs => %(seconds)s)
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND (lease_until IS NULL OR lease_until < now())
RETURNING thread_id

-- name: renew
-- Keep the lease while the model works.
UPDATE ricordo.thread
SET lease_until = now() + make_interval(secs => %(seconds)s)
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND lease_token = %(token)s::uuid
RETURNING thread_id

-- name: release
-- Give the lease back, if it is still ours.
UPDATE ricordo.thread
SET lease_token = NULL, lease_until = NULL
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND lease_token = %(token)s::uuid
RETURNING thread_id
