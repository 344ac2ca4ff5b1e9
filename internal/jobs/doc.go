// Package jobs runs work after the transaction that asked for it. It owns the queue, which is River
// on both databases, and the timeouts and retries of jobs.
//
// A job is inserted in the transaction that needs it, so it exists only if that transaction was
// committed. It is run at least once, by one process at a time. If that process dies, another
// process runs the job again, so jobs must be idempotent. A refund or a check that fails is retried
// until it succeeds.
//
// The package does not define what the jobs do: [Queue.Run] takes functions.
package jobs
