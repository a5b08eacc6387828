package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"deployer/engine/sanitize"
)

// States are the states of the clusters of a repository. Refs below refs/deployer/ keep them, and
// whoever may push to the repository may change these refs. So a state counts only with the
// signature of the service, for its own repository and cluster, and when it is not older than the
// newest one that this machine knows.
type States struct {
	repo  *Repository
	keys  *Keys
	known known
	name  string // of the repository in its states; empty for any, see Reader
	// accepted are the public keys whose states are authentic; see Reader.
	accepted []string
	reader   bool
	// remote keeps the refs; empty for the repository itself. fetched are the objects that its
	// refs had when they were last read or written.
	remote  string
	fetched map[string]string
}

// OpenStates returns the states for a service, which signs with its keys. name is the one of the
// repository (see [Repository.StateName]). dir is a directory outside of the repository, in which
// the newest states are remembered; it must outlive the run. A States is not safe for concurrent
// use.
func (r *Repository) OpenStates(keys *Keys, name, dir string) *States {
	return &States{repo: r, keys: keys, name: name, known: known(dir)}
}

// ReadStates returns the states for a process that only shows what would be done, such as a hook,
// and has no key. The states that are not signed with one of the public keys are refused, and so
// are those of another repository where name is not empty; without any key, states are taken as
// they are.
func (r *Repository) ReadStates(accepted []string, name string) *States {
	return &States{repo: r, accepted: accepted, name: name, reader: true}
}

// UntrustedError is the error of a state that is not the one that the service has written last.
type UntrustedError struct {
	Inventory string
	Reason    string
	// SetBack is true when the state, or that there is none, is older than a known state.
	SetBack bool
	// Repository is the name of the repository whose state it is; empty for this one.
	Repository string
	source     string // where the keys are
}

// Error implements error. The name of the inventory comes from a ref of whoever may push.
func (e *UntrustedError) Error() string {
	return fmt.Sprintf("the state of %s (%s) cannot be trusted: %s", sanitize.Line(e.Inventory), stateRef(e.Inventory), e.Reason)
}

// Advice says what to do about the state.
func (e *UntrustedError) Advice() string {
	inventory := sanitize.Line(e.Inventory)
	look := "look at it with `deployer ci state show`"
	if e.SetBack {
		return fmt.Sprintf("%s; `deployer ci state restore %s` writes the newest state that this machine knows, `deployer ci state sign %[2]s` accepts the present one", look, inventory)
	}
	if e.Repository != "" {
		return fmt.Sprintf("if this repository has another address on this machine, or has moved, name it with $%s or with git config %s, the same on all runners; otherwise %s, and sign what is right with `deployer ci state sign %s`", NameVariable, nameSetting, look, inventory)
	}
	return fmt.Sprintf("if another runner deploys this repository, give this one its key (%s, or $%s); otherwise %s, and sign what is right with `deployer ci state sign %s`", e.source, KeyVariable, look, inventory)
}

// Get returns the state of the cluster of an inventory; the zero value for an unknown one. The
// error of a state that does not count is an *UntrustedError.
func (s *States) Get(ctx context.Context, inventory string) (ClusterState, error) {
	present, err := s.read(ctx, inventory)
	if err != nil {
		return ClusterState{}, err
	}
	newest, err := s.known.get(inventory)
	if err != nil {
		return ClusterState{}, err
	}
	setBack := func(format string, args ...any) (ClusterState, error) {
		e := s.untrusted(inventory, fmt.Errorf(format, args...))
		e.SetBack = true
		return ClusterState{}, e
	}
	switch {
	case present == nil && newest == nil:
		return ClusterState{}, nil
	case present == nil:
		return setBack("it was deleted; this machine knows the state %d of %s", newest.Serial, newest.Written.Format(time.RFC3339))
	case s.reader && len(s.accepted) == 0 && present.invalid == nil:
		return present.State, nil
	}
	accepted, err := s.acceptedKeys()
	if err != nil {
		return ClusterState{}, err
	}
	if err := present.acceptedBy(s.name, inventory, accepted); err != nil {
		return ClusterState{}, s.untrusted(inventory, err)
	}
	switch {
	case newest == nil || present.Serial > newest.Serial:
		return present.State, s.known.put(*present)
	case present.Serial < newest.Serial || !bytes.Equal(present.raw, newest.raw):
		return setBack("it was set back to the state %d of %s; this machine knows the state %d of %s",
			present.Serial, present.Written.Format(time.RFC3339), newest.Serial, newest.Written.Format(time.RFC3339))
	}
	return present.State, nil
}

// untrusted returns the error of a state that does not count for a reason.
func (s *States) untrusted(inventory string, reason error) *UntrustedError {
	e := &UntrustedError{Inventory: inventory, Reason: reason.Error()}
	if elsewhere, is := errors.AsType[*elsewhereError](reason); is {
		e.Repository = elsewhere.repository
	}
	if s.keys != nil {
		e.source = s.keys.Source()
	}
	return e
}

func (s *States) acceptedKeys() ([]string, error) {
	if s.reader {
		return s.accepted, nil
	}
	return s.keys.Public()
}

// read returns what the ref of a cluster has, authentic or not; nil for no ref.
func (s *States) read(ctx context.Context, inventory string) (*SignedState, error) {
	ref := stateRef(inventory)
	object, err := s.repo.git(ctx, "rev-parse", "--verify", "--quiet", ref)
	if err != nil {
		return nil, nil //nolint:nilerr // no such ref
	}
	return s.repo.readState(ctx, object, ref)
}

// maxState is the maximum number of bytes of a state. Ten commits and the steps of a deploy of
// 1000 hosts have less than 100 KiB.
const maxState = 1 << 20

// readState reads the state of an object; ref is used in messages.
func (r *Repository) readState(ctx context.Context, object, ref string) (*SignedState, error) {
	size, err := r.git(ctx, "cat-file", "-s", object)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	if n, _ := strconv.Atoi(size); len(size) > 9 || n > maxState {
		return &SignedState{invalid: fmt.Errorf("it has %s bytes, and a state has at most %d", size, maxState)}, nil
	}
	text, err := r.git(ctx, "cat-file", "blob", object)
	if err != nil { // the state is there and cannot be used, which its reader reports
		return &SignedState{invalid: fmt.Errorf("it is no file: %w", err)}, nil
	}
	s := parseState([]byte(text + "\n"))
	return &s, nil
}

// Inventories returns the inventories of all clusters with a state, sorted, with those whose
// state was deleted by somebody else, and without those of removed clusters.
func (s *States) Inventories(ctx context.Context) (out []string, err error) {
	all, err := s.all(ctx)
	for _, inventory := range all {
		removed, err := s.removed(ctx, inventory)
		if err != nil {
			return nil, err
		}
		if !removed {
			out = append(out, inventory)
		}
	}
	return out, err
}

// all returns the inventories of all clusters that have or had a state, sorted.
func (s *States) all(ctx context.Context) ([]string, error) {
	prefix := stateRef("")
	out, err := s.repo.git(ctx, "for-each-ref", "--format=%(refname)", prefix)
	if err != nil {
		return nil, err
	}
	inventories, err := s.known.inventories()
	if err != nil {
		return nil, err
	}
	for ref := range strings.Lines(out) {
		inventory, err := inventoryOf(strings.TrimPrefix(strings.TrimSpace(ref), prefix))
		if err != nil {
			return nil, err
		}
		inventories = append(inventories, inventory)
	}
	slices.Sort(inventories)
	return slices.Compact(inventories), nil
}

// removed reports whether the state of a cluster counts and says that the cluster was removed.
func (s *States) removed(ctx context.Context, inventory string) (bool, error) {
	present, err := s.read(ctx, inventory)
	if err != nil || present == nil || !present.Removed {
		return false, err
	}
	_, err = s.Get(ctx, inventory)
	return err == nil, nil //nolint:nilerr // a state that does not count removes nothing
}

// errReader is the error of a write by a process that only reads.
var errReader = errors.New("writing the state: this process only reads it")

// Set signs and writes the state of a cluster, in the repository and its remote.
func (s *States) Set(ctx context.Context, inventory string, state ClusterState) error {
	return s.write(ctx, SignedState{Inventory: inventory, State: state})
}

// Delete replaces the state of a cluster by the one of a cluster that was removed: a ref that is
// gone could not be told from one that somebody has deleted.
func (s *States) Delete(ctx context.Context, inventory string) error {
	present, err := s.read(ctx, inventory)
	if err != nil {
		return err
	}
	newest, err := s.known.get(inventory)
	if err != nil || present == nil && newest == nil || present != nil && present.Removed && present.invalid == nil {
		return err
	}
	return s.write(ctx, SignedState{Inventory: inventory, Removed: true})
}

// write signs a state as the one that follows the present and the newest known one, and writes it.
// A ref keeps the last verified commit from being collected as garbage. No ref is deleted: that
// needs the right to write into the directory of the repository, which its service does not have.
func (s *States) write(ctx context.Context, state SignedState) error {
	state, err := s.next(ctx, state)
	if err != nil {
		return err
	}
	ref := stateRef(state.Inventory)
	blob, err := command{dir: s.repo.Dir, gitDir: s.repo.Dir, args: []string{"hash-object", "-w", "--stdin"}, stdin: state.raw}.run(ctx)
	if err != nil {
		return fmt.Errorf("writing %s: %w", ref, err)
	}
	if _, err := s.repo.git(ctx, "update-ref", ref, blob); err != nil {
		return err
	}
	if commit := state.State.LastVerified(); commit != "" {
		if _, err := s.repo.git(ctx, "update-ref", verifiedRef(state.Inventory), commit); err != nil {
			return err
		}
	}
	if err := s.push(ctx, state.Inventory); err != nil {
		return err
	}
	return s.known.put(state)
}

// next returns a state with its serial and signature.
func (s *States) next(ctx context.Context, state SignedState) (SignedState, error) {
	if s.reader {
		return state, errReader
	}
	key, err := s.keys.signing()
	if err != nil {
		return state, err
	}
	present, err := s.read(ctx, state.Inventory)
	if err != nil {
		return state, err
	}
	newest, err := s.known.get(state.Inventory)
	if err != nil {
		return state, err
	}
	for _, before := range []*SignedState{present, newest} {
		if before != nil {
			state.Serial = max(state.Serial, before.Serial)
		}
	}
	state.Repository = s.name
	state.Serial, state.Written = state.Serial+1, time.Now().UTC().Truncate(time.Second)
	return state, state.sign(key)
}
