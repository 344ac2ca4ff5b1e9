// Package jobs is the work that is promised in a transaction and done after it. It owns the queue,
// which is River on both engines, and how often and how long jobs are tried.
//
// A job is born in the transaction that makes it necessary: it exists if and only if that was
// committed. It is worked at least once, by one process at a time as long as that one lives, and
// again when a process died over it; so what the jobs do must do no harm when done twice. A refund
// or a check that fails is tried again for as long as it takes.
//
// What the jobs do is not decided here: [Queue.Run] is given functions.
package jobs
