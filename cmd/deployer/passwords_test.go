package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"deployer/engine/transport"
)

func refused(host string) error {
	return &transport.Error{Host: host, Stage: transport.StageBecome, Kind: transport.BecomePassword, Err: errors.New("sudo refused the password")}
}

// A wrong password is tried on two hosts of a hundred.
func TestWrongPasswordIsNotTriedEverywhere(t *testing.T) {
	var p passwords
	var tries, told atomic.Int64
	var all sync.WaitGroup
	for i := range 100 {
		host := fmt.Sprintf("n%d", i)
		all.Go(func() {
			err := p.try(t.Context(), host, "ops", "wrong", func() error { tries.Add(1); return refused(host) })
			if transport.KindOf(err) != transport.BecomePassword || !strings.HasPrefix(err.Error(), host+": become: ") {
				t.Errorf("%s: %v", host, err)
			}
			if strings.Contains(err.Error(), "so that the account is not locked") && !strings.Contains(err.Error(), "wrong") {
				told.Add(1)
			}
		})
	}
	all.Wait()
	if tries.Load() != maxRefusals || told.Load() != 100-maxRefusals {
		t.Errorf("tried on %d hosts, told on %d", tries.Load(), told.Load())
	}
	// Another user's, or another password, is another matter.
	for _, other := range [][2]string{{"ops", "right"}, {"root", "wrong"}} {
		if err := p.try(t.Context(), "m1", other[0], other[1], func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
}

// Once a host has taken it, all go at once, and one that refuses it is alone.
func TestGoodPasswordHoldsNobodyUp(t *testing.T) {
	var p passwords
	lost := errors.New("lost") // says nothing about the password
	if err := p.try(t.Context(), "n0", "ops", "right", func() error { return lost }); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if err := p.try(t.Context(), "n1", "ops", "right", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	var all, together sync.WaitGroup
	together.Add(20)
	for i := range 20 {
		all.Go(func() {
			err := p.try(t.Context(), "n", "ops", "right", func() error {
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

func TestNoPasswordNeedsNoTurn(t *testing.T) {
	var p passwords
	err := p.try(t.Context(), "n1", "ops", "", func() error {
		return p.try(t.Context(), "n2", "ops", "", func() error { return nil })
	})
	if err != nil || p.of != nil {
		t.Errorf("%v, %v", err, p.of)
	}
}
