package repository

import (
	"context"
	"errors"
	"fmt"
)

// Review is the state of a cluster as a person reviews it.
type Review struct {
	SignedState
	// Inventory is the one that the ref names.
	Inventory string
	// Problem is the reason why the state does not count; nil for a state that does.
	Problem error
}

// Review returns the states of all clusters, with those that do not count and those of removed
// clusters.
func (s *States) Review(ctx context.Context) ([]Review, error) {
	inventories, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	var out []Review
	for _, inventory := range inventories {
		present, err := s.read(ctx, inventory)
		if err != nil {
			return nil, err
		}
		one := Review{Inventory: inventory}
		if present != nil {
			one.SignedState = *present
		}
		_, one.Problem = s.Get(ctx, inventory)
		var untrusted *UntrustedError
		if one.Problem != nil && !errors.As(one.Problem, &untrusted) {
			return nil, one.Problem
		}
		out = append(out, one)
	}
	return out, nil
}

// Sign signs the present state of a cluster, whoever has written it, so that it counts. A person
// has reviewed it. A cluster whose state was deleted has none from then on.
func (s *States) Sign(ctx context.Context, inventory string) error {
	present, err := s.read(ctx, inventory)
	if err != nil {
		return err
	}
	if present == nil {
		return s.Delete(ctx, inventory)
	}
	if present.invalid != nil {
		return fmt.Errorf("the state of %s cannot be signed: %w; remove it with git update-ref -d %s, or restore a known one with `deployer ci state restore %[1]s`", inventory, present.invalid, stateRef(inventory))
	}
	return s.write(ctx, SignedState{Inventory: inventory, Removed: present.Removed, State: present.State})
}

// Restore writes the newest state of a cluster that this machine knows.
func (s *States) Restore(ctx context.Context, inventory string) error {
	newest, err := s.known.get(inventory)
	if err != nil {
		return err
	}
	if newest == nil {
		return fmt.Errorf("this machine knows no state of %s", inventory)
	}
	return s.write(ctx, SignedState{Inventory: inventory, Removed: newest.Removed, State: newest.State})
}
