package image

import (
	"context"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/containerd"
)

// PinRestorer restores which images are pinned for a set. The name of the resource is the
// set, the keys of its state are the names of the images. A host whose containerd does not
// answer has no state: pins never stop a revert, and the next run of the task sets them.
var PinRestorer = &engine.Restorer{Effect: engine.EffectImage, Restore: restorePins,
	Read: func(ctx context.Context, sys engine.System, set string) (engine.State, error) {
		now := (&Import{Pin: set}).read(ctx, sys)
		return now.pins(), nil
	},
	EquivalentToAbsent: func(engine.State) bool { return true },
}

// pins returns the state of the task's set; nil when no image is pinned for it.
func (s state) pins() engine.State {
	var out engine.State
	for ref := range s.pinned {
		if out == nil {
			out = engine.State{}
		}
		out[ref] = "pinned"
	}
	return out
}

// backUp backs up the pins of the task's set. Pins behind a socket of the task's own are
// not backed up, as their restorer would not know it.
func (i *Import) backUp(sys engine.System, now state) error {
	if i.Pin == "" || i.Ctr != "" || i.Socket != "" {
		return nil
	}
	return sys.BackupState("image_import", i.Pin, now.pins())
}

func restorePins(ctx context.Context, sys engine.System, set string, now, to engine.State) error {
	present := (&Import{}).read(ctx, sys).present
	var change pinChange
	var gone []string
	for ref, pinned := range to {
		switch {
		case pinned == "" || now[ref] != "":
		case present[ref]:
			change.add = append(change.add, ref)
		default:
			gone = append(gone, ref)
		}
	}
	for ref := range now {
		if to[ref] == "" {
			change.drop = append(change.drop, ref)
		}
	}
	err := change.apply(ctx, containerd.Connect(sys, "", ""), set)
	if err == nil && len(gone) > 0 {
		slices.Sort(gone)
		err = &engine.IrreversibleError{Reason: "the kubelet or a later run has removed " + strings.Join(gone, ", ") + "; an install with the earlier version imports it again"}
	}
	return err
}
