package image

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// TestRevertRestoresPins: images of the earlier version are pinned again, those of the
// newer version are not, and pins of other sets stay.
func TestRevertRestoresPins(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newContainerd(t, true)
	older := Tarball{Name: "older", Blob: f.sys.AddBlob(dockerSave(t, "a.b/one:1"))}
	newer := Tarball{Name: "newer", Blob: f.sys.AddBlob(dockerSave(t, "a.b/one:2"))}
	f.refs = append(f.refs, "a.b/other:1")
	f.labels["a.b/other:1"] = "dns"
	tasktest.Converge(t, f.sys, &Import{Pin: "static-pods", Images: []Tarball{older}})
	tasktest.Converge(t, f.sys, &Import{Pin: "static-pods", Images: []Tarball{newer}})
	if diff := cmp.Diff([]string{"image_import static-pods: none", "image_import static-pods: a.b/one:1=pinned"}, f.sys.States()); diff != "" {
		t.Errorf("backups (-want +got):\n%s", diff)
	}

	now, err := PinRestorer.Read(ctx, f.sys, "static-pods")
	if err != nil || now["a.b/one:2"] == "" {
		t.Fatalf("the pins are %v, %v", now, err)
	}
	// The state to is the one before the run, merged into the present one as the
	// agent does.
	to := engine.State{"a.b/one:1": "pinned", "a.b/one:2": ""}
	if err := PinRestorer.Restore(ctx, f.sys, "static-pods", now, to); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.b/one:1": "static-pods", "a.b/one:2": "", "a.b/other:1": "dns"}
	if diff := cmp.Diff(want, f.labels); diff != "" {
		t.Errorf("pins after the restore (-want +got):\n%s", diff)
	}
}

// TestPinsOfRemovedImages: an image that is gone is reported, and the others are restored.
func TestPinsOfRemovedImages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := newContainerd(t, true)
	one := Tarball{Name: "one", Blob: f.sys.AddBlob(dockerSave(t, "a.b/one:2"))}
	tasktest.Converge(t, f.sys, &Import{Pin: "static-pods", Images: []Tarball{one}})
	now, err := PinRestorer.Read(ctx, f.sys, "static-pods")
	if err != nil {
		t.Fatal(err)
	}
	err = PinRestorer.Restore(ctx, f.sys, "static-pods", now, engine.State{"a.b/one:1": "pinned"})
	if lost, ok := errors.AsType[*engine.IrreversibleError](err); !ok || !strings.Contains(lost.Reason, "a.b/one:1") {
		t.Errorf("the error is %v", err)
	}
	if f.labels["a.b/one:2"] != "" {
		t.Error("the newer image is still pinned")
	}
}

// TestPinsWithoutContainerd: a containerd that does not answer stops no revert.
func TestPinsWithoutContainerd(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, false)
	now, err := PinRestorer.Read(context.Background(), f.sys, "static-pods")
	if err != nil || len(now) != 0 || !PinRestorer.EquivalentToAbsent(engine.State{"a.b/one:1": "pinned"}) {
		t.Errorf("the pins are %v, %v", now, err)
	}
	own := &Import{Pin: "static-pods", Socket: "/run/own.sock"}
	if err := own.backUp(f.sys, state{}); err != nil || slices.Contains(f.sys.States(), "image_import") {
		t.Errorf("pins behind a socket of the task's own are backed up: %v, %v", f.sys.States(), err)
	}
}
