package prober

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Kinds of calls.
const (
	KindWrite   = "write"
	KindRead    = "read"
	KindDNS     = "dns"
	KindService = "service"
)

// maxErrors is the maximum number of errors that a tally keeps, which are the first
// ones.
const maxErrors = 5

// tally counts the calls of one kind from one client. One goroutine uses it.
type tally struct {
	client, kind   string
	calls          int
	failedAttempts int
	failedCalls    int
	longest        time.Duration
	longestAt      time.Time // its begin
	outage         time.Time // begin of the first failed call since the last success
	errors         []CallError

	lastSuccess atomic.Pointer[time.Time] // end of the last call that succeeded; other goroutines read it
}

// call makes one call: attempts until one succeeds or Retry is over.
func (t *tally) call(attempt func(context.Context) error) {
	began := time.Now()
	for attempts := 0; ; attempts++ {
		tried := time.Now()
		err := try(attempt)
		switch {
		case err == nil:
			t.success(began)
			return
		case errors.Is(err, ErrClientDown):
			// The earlier attempts failed because the host was switched off.
			t.failedAttempts -= attempts
			t.outage = time.Time{}
			return
		}
		t.failedAttempts++
		if len(t.errors) < maxErrors {
			t.errors = append(t.errors, CallError{At: tried, Client: t.client, Text: err.Error()})
		}
		if time.Since(began) >= Retry {
			t.failure(began)
			return
		}
		time.Sleep(backoff)
	}
}

func try(attempt func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), AttemptTimeout)
	defer cancel()
	return attempt(ctx)
}

func (t *tally) success(began time.Time) {
	t.calls++
	t.gap(began)
	t.outage = time.Time{}
	now := time.Now()
	t.lastSuccess.Store(&now)
}

// servedSince reports whether a call has succeeded after a time.
func (t *tally) servedSince(at time.Time) bool {
	last := t.lastSuccess.Load()
	return last != nil && last.After(at)
}

func (t *tally) failure(began time.Time) {
	t.calls++
	t.failedCalls++
	if t.outage.IsZero() {
		t.outage = began
	}
}

// gap records the time from the begin of the outage, or without an outage from began,
// to now.
func (t *tally) gap(began time.Time) {
	if !t.outage.IsZero() {
		began = t.outage
	}
	if d := time.Since(began); d > t.longest {
		t.longest, t.longestAt = d, began
	}
}

// end records the gap of an outage that has not ended.
func (t *tally) end() {
	if !t.outage.IsZero() {
		t.gap(t.outage)
	}
}
