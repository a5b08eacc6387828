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
	f.sizes["m1"], f.sizes["m2"] = 400<<20, 200<<20
	return f
}

func TestDefragment(t *testing.T) {
	f := fragmented()
	s := run(t, f, "m1", nil)
	action := NewDefragment()
	action.Pause = time.Millisecond
	change, err := action.Check(t.Context(), s)
	if err != nil || !change.Needed || len(change.Effects) != 2 {
		t.Fatalf("change %+v, error %v; want two members", change, err)
	}
	out, err := action.Apply(t.Context(), s, change)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"defragment m2", "defragment m1"}, f.done); diff != "" {
		t.Error(diff)
	}
	if want := int64(592 << 20); out["freed_bytes"] != want {
		t.Errorf("freed %v bytes, want %d", out["freed_bytes"], want)
	}
	if change, err := action.Check(t.Context(), s); err != nil || change.Needed {
		t.Errorf("again: %+v, %v", change, err)
	}
}

// TestFullDatabase: all members are compacted and defragmented at once, whatever their
// size, and the alarm ends when that was enough.
func TestFullDatabase(t *testing.T) {
	for name, tt := range map[string]struct {
		history int64
		done    []string
		wrong   string
	}{
		"history fills it": {30 << 20, []string{"compact 40", "defragment m2", "defragment m3", "defragment m1", "disarm"}, ""},
		"objects fill it":  {0, []string{"compact 40", "defragment m2", "defragment m3", "defragment m1"}, "the alarm NOSPACE stays: the database of member m1 has 32 MiB, and its quota is 32 MiB"},
	} {
		f := newFake("m1", "m2", "m3")
		f.inUse, f.history, f.quota, f.alarms = 32<<20, tt.history, 32<<20, []string{"NOSPACE on member 1"}
		s := run(t, f, "m1", nil)
		action := NewDefragment() // the pause of 36 s does not apply while a database is full
		change, err := action.Check(t.Context(), s)
		if err != nil || len(change.Effects) != 5 {
			t.Fatalf("%s: change %+v, error %v; want history, three members and the alarm", name, change, err)
		}
		_, err = action.Apply(t.Context(), s, change)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
		if diff := cmp.Diff(tt.done, f.done); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
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
