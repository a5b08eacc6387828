package etcd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fragmented returns a cluster whose leader m1 and member m2 have large files.
func fragmented() *fake {
	f := newFake("m1", "m2", "m3")
	f.sizes["m1"], f.sizes["m2"], f.alarms = 400<<20, 200<<20, []string{"NOSPACE on member 1"}
	return f
}

func TestDefragment(t *testing.T) {
	f := fragmented()
	s := run(t, f, "m1", nil)
	action := NewDefragment()
	action.Pause = time.Millisecond
	change, err := action.Check(t.Context(), s)
	if err != nil || !change.Needed || len(change.Effects) != 3 {
		t.Fatalf("change %+v, error %v; want two members and the alarm", change, err)
	}
	out, err := action.Apply(t.Context(), s, change)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"defragment m2", "defragment m1", "disarm"}, f.done); diff != "" {
		t.Error(diff)
	}
	if want := int64(592 << 20); out["freed_bytes"] != want {
		t.Errorf("freed %v bytes, want %d", out["freed_bytes"], want)
	}
	if change, err := action.Check(t.Context(), s); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
}

func TestNoDefragmentationWithAMemberDown(t *testing.T) {
	f := fragmented()
	f.up["m3"] = false
	_, err := NewDefragment().Check(t.Context(), run(t, f, "m1", nil))
	if err == nil || !strings.Contains(err.Error(), "m3") {
		t.Errorf("error %v, want one that names m3", err)
	}
}

func TestMembers(t *testing.T) {
	f := fragmented()
	f.up["m3"] = false
	change, err := (&Members{}).Check(t.Context(), run(t, f, "m1", nil))
	if err != nil {
		t.Fatal(err)
	}
	if change.Output["snapshot_host"] != "m2" {
		t.Errorf("snapshot of %v, want the follower m2", change.Output["snapshot_host"])
	}
	var serve []bool
	for _, m := range change.Output["members"].([]any) {
		serve = append(serve, m.(map[string]any)["serves"].(bool))
	}
	if !slices.Equal(serve, []bool{true, true, false}) {
		t.Errorf("members serve: %v", serve)
	}
	f.up["m1"], f.up["m2"] = false, false
	if change, err = (&Members{}).Check(t.Context(), run(t, f, "m1", nil)); err != nil || change.Output["problem"] == "" {
		t.Errorf("nobody answers: %v, %v", change.Output, err)
	}
}
