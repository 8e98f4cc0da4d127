package mirror

import (
	"errors"
	"time"
)

// A Class says what to do about an error.
type Class string

// The classes. Those of listings are Throttled, Denied and Failed; the rest are
// about groups of a batch.
const (
	// Throttled: the cloud asks to wait. Nothing of the call was applied.
	Throttled Class = "throttled"
	// Denied: the credentials are absent, wrong or too weak. Nothing was applied.
	Denied Class = "denied"
	// Failed: the zone or the cloud can't be used now (no such zone, an internal
	// error, a listing that isn't whole). Nothing was applied.
	Failed Class = "failed"
	// BadChange: the cloud refuses this group for what stands in it. Nothing of it
	// was applied, and the same group would be refused again.
	BadChange Class = "bad change"
	// Undone: nothing of this group was applied, since another group of the batch
	// was refused. Where no group of a batch is BadChange, nobody knows which one it
	// was: the batch is halved until that is found.
	Undone Class = "undone"
	// Conflict: the zone isn't as it was listed. Nothing of the group was applied
	// (or, without transactions, a part), and the zone is listed and planned anew.
	Conflict Class = "conflict"
	// Unknown: the group may have been applied, or a part of it (the reply was
	// lost). The zone is listed before anything else is written to it.
	Unknown Class = "unknown outcome"
)

// An Error is a provider's error with what to do about it.
type Error struct {
	Class Class
	// RetryAfter is how long to wait at least; 0 leaves it to the caller.
	RetryAfter time.Duration
	// Err is the cause, as one sentence without capital and final stop.
	Err error
}

// Error returns the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of an error, or otherwise where it has none.
func ClassOf(err error, otherwise Class) Class {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Class
	}
	return otherwise
}

// retryAfter is the longest wait that an error asks for.
func retryAfter(err error) time.Duration {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
