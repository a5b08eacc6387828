package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// exitPartial is the exit code of a run that is complete except on some hosts.
const exitPartial = 3

// check returns an error when the observations break a limit of the rollout. It does
// not check times.
func (r *rollout) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.unavailable > r.batch {
		fail("%d nodes were unavailable at one time, allowed are %d", r.unavailable, r.batch)
	}
	if r.unavailableZone > r.zoneLimit {
		fail("%d nodes of one zone were unavailable at one time, allowed are %d", r.unavailableZone, r.zoneLimit)
	}
	if v := r.tally.violations(); len(v) > 0 {
		fail("budgets were violated %d times, first %s", len(v), v[0])
	}
	if now := r.tally.cordoned(); len(now) > 0 {
		fail("left cordoned: %s", names(now))
	}
	if r.exit != exitPartial {
		fail("the resumed run ended with exit code %d, want %d", r.exit, exitPartial)
	}
	errs = append(errs, r.checkHosts(), r.checkDone())
	return errors.Join(errs...)
}

// checkHosts checks that each host is changed, or restored and reported.
func (r *rollout) checkHosts() error {
	var errs []error
	reported := map[string]bool{}
	for _, h := range r.report.Broken() {
		reported[h.Host] = true
		if h.Restored == nil || !h.Restored.Clean() {
			errs = append(errs, fmt.Errorf("%s was not restored: %+v", h.Host, h))
		}
	}
	for name := range r.minions.hosts {
		version, _, err := r.minions.version(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		want := newVersion
		if r.minions.failing[name] {
			want = oldVersion
		}
		if version != want || reported[name] != r.minions.failing[name] {
			errs = append(errs, fmt.Errorf("%s has %s, want %s, reported as failed: %v", name, version, want, reported[name]))
		}
	}
	return errors.Join(errs...)
}

// checkDone checks that the resumed run has not touched hosts that were done.
func (r *rollout) checkDone() error {
	var errs []error
	r.tally.look(func() {
		for name := range r.done {
			if runs := r.tally.cordons[name]; slices.Contains(runs, r.resumedAs) || len(runs) > 1 {
				errs = append(errs, fmt.Errorf("%s was done, and was cordoned again: by %s", name, strings.Join(runs, ", ")))
			}
		}
	})
	for name, before := range r.done {
		_, since, err := r.minions.version(name)
		if err == nil && !since.Equal(before) {
			err = fmt.Errorf("%s was done, and was changed again at %s", name, since)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// names joins the keys of a set.
func names(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }
