package repository

import (
	"context"
	"fmt"
	"strings"

	"deployer/engine/sanitize"
)

// RefUpdate is the change of a ref by a push, as git gives it to a hook. An object of zeros stands
// for no object.
type RefUpdate struct{ Old, New, Ref string }

// Deletes reports whether the push deletes the ref.
func (u RefUpdate) Deletes() bool { return strings.Trim(u.New, "0") == "" }

// CheckPush returns why a push must be refused, whoever pushes: it changes the state of clusters and
// is not the service's, or puts objects in the place of others. A push of the service has states
// that one of the accepted public keys has signed, each newer than the one before.
func (r *Repository) CheckPush(ctx context.Context, accepted []string, updates []RefUpdate) error {
	for _, u := range updates {
		var err error
		switch inventory, kind := clusterOf(u.Ref); {
		case strings.HasPrefix(u.Ref, "refs/replace/"):
			err = fmt.Errorf("%s would show another object in the place of one that was reviewed; push a commit instead", u.Ref)
		case kind == "state":
			err = r.checkState(ctx, accepted, inventory, u)
		case kind == "verified":
			err = r.checkVerified(ctx, accepted, inventory, u, updates)
		case strings.HasPrefix(u.Ref, "refs/deployer/"):
			err = errServiceOnly(u.Ref, "it is no ref of the state")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func errServiceOnly(ref, reason string) error {
	return fmt.Errorf("only the service writes %s: %s; to let a runner push the state of runs, add its public key (deployer ci state public-key) to the configuration of this repository: git config --add %s KEY", ref, reason, publicKeySetting)
}

// clusterOf returns the inventory of a ref of the state, and whether it is a state or a verified
// commit; empty for other refs.
func clusterOf(ref string) (inventory, kind string) {
	for _, kind := range []string{"state", "verified"} {
		if name, is := strings.CutPrefix(ref, "refs/deployer/"+kind+"/"); is {
			if inventory, err := inventoryOf(name); err == nil && refName(inventory) == name {
				return inventory, kind
			}
		}
	}
	return "", ""
}

func (r *Repository) checkState(ctx context.Context, accepted []string, inventory string, u RefUpdate) error {
	if u.Deletes() {
		return errServiceOnly(u.Ref, "it cannot be deleted")
	}
	pushed, err := r.readState(ctx, u.New, u.Ref)
	if err != nil {
		return err
	}
	name, err := r.ConfiguredName(ctx)
	if err != nil {
		return err
	}
	if err := pushed.acceptedBy(name, inventory, accepted); err != nil {
		return errServiceOnly(u.Ref, err.Error())
	}
	if pushed.Repository == "" {
		return errServiceOnly(u.Ref, errUnbound.Error())
	}
	if strings.Trim(u.Old, "0") == "" {
		return nil
	}
	present, err := r.readState(ctx, u.Old, u.Ref)
	if err != nil {
		return err
	}
	switch counts := present.acceptedBy("", inventory, accepted) == nil; {
	case !counts:
	case pushed.Serial <= present.Serial:
		return errServiceOnly(u.Ref, fmt.Sprintf("the state %d does not follow the state %d", pushed.Serial, present.Serial))
	case name == "" && present.Repository != "" && present.Repository != pushed.Repository:
		return errServiceOnly(u.Ref, fmt.Sprintf("it is the state of the repository %q, and the present one of %q; if the repository has moved, name it with git config %s", pushed.Repository, present.Repository, nameSetting))
	}
	return nil
}

// checkVerified compares a verified commit with the state that the push writes, or leaves as it is.
func (r *Repository) checkVerified(ctx context.Context, accepted []string, inventory string, u RefUpdate, updates []RefUpdate) error {
	object := stateRef(inventory)
	for _, other := range updates {
		if other.Ref == object {
			object = other.New
		}
	}
	state, err := r.readState(ctx, object, stateRef(inventory))
	if err != nil {
		return errServiceOnly(u.Ref, "there is no state of "+sanitize.Line(inventory))
	}
	if err := state.acceptedBy("", inventory, accepted); err != nil {
		return errServiceOnly(u.Ref, "the state of "+sanitize.Line(inventory)+": "+err.Error())
	}
	if commit := state.State.LastVerified(); commit != u.New {
		return errServiceOnly(u.Ref, "it is not the verified commit of the state")
	}
	return nil
}

// publicKeySetting is the key of the configuration of a repository that has the public keys of the
// service, for hooks.
const publicKeySetting = "deployer.stateKey"

// PublicKeys returns the public keys that the configuration of the repository has. Only the owner
// of the repository can change it.
func (r *Repository) PublicKeys(ctx context.Context) []string {
	out, err := r.git(ctx, "config", "--local", "--get-all", publicKeySetting)
	if err != nil {
		return nil // there are none
	}
	return strings.Fields(out)
}
