package transport

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func refused(host string) error {
	return &Error{Host: host, Stage: StageBecome, Kind: BecomePassword, Err: errors.New("sudo refused the password")}
}

func (p *Passwords) try(t *testing.T, host, user, password string, connect func() error) error {
	turn, err := p.Take(t.Context(), user, password)
	if err != nil {
		return err
	}
	err = connect()
	turn.End(host, err)
	return err
}

// TestWrongPasswordIsNotTriedEverywhere: a wrong password is tried on two of a
// hundred hosts.
func TestWrongPasswordIsNotTriedEverywhere(t *testing.T) {
	var p Passwords
	var tries, refusals atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		host := fmt.Sprintf("n%d", i)
		all.Go(func() {
			err := p.try(t, host, "ops", "wrong", func() error { tries.Add(1); return refused(host) })
			var before *RefusedError
			switch {
			case errors.As(err, &before) && len(before.On) == maxRefusals && !strings.Contains(err.Error(), "wrong"):
				refusals.Add(1)
			case KindOf(err) != BecomePassword:
				t.Errorf("%s: %v", host, err)
			}
		})
	}
	all.Wait()
	if tries.Load() != maxRefusals || refusals.Load() != 100-maxRefusals {
		t.Errorf("sent to %d hosts, refused before on %d", tries.Load(), refusals.Load())
	}
	// Another user or another password is tried independently.
	for _, other := range [][2]string{{"ops", "right"}, {"root", "wrong"}} {
		if err := p.try(t, "m1", other[0], other[1], func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

// TestGoodPasswordHoldsNobodyUp: once a host has accepted the password, all hosts try
// it in parallel, and a refusal concerns only its own host.
func TestGoodPasswordHoldsNobodyUp(t *testing.T) {
	var p Passwords
	lost := errors.New("lost") // says nothing about the password
	if err := p.try(t, "n0", "ops", "right", func() error { return lost }); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if err := p.try(t, "n1", "ops", "right", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	var all, together sync.WaitGroup
	together.Add(20)
	for i := range 20 {
		all.Go(func() {
			err := p.try(t, "n", "ops", "right", func() error {
				together.Done()
				together.Wait() // each waits for all the others
				if i%2 == 0 {
					return refused("n")
				}
				return nil
			})
			if (err != nil) != (i%2 == 0) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
