package packages

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/strictyaml"
	"deployer/tasks/tasktest"
)

// TestRestorer: with each package manager, the previous version is restored when its
// source still offers it; otherwise the change is reported as irreversible before and
// after.
func TestRestorer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have, offered map[string]string
		module        *Package
		later         map[string]string // packages of the source when the step is reverted
		left          map[string]string
		stays         string
	}{
		"installed": {offered: map[string]string{"a": "1"}, module: &Package{Name: strictyaml.Texts{"a"}}, left: map[string]string{}},
		"removed": {have: map[string]string{"a": "1"}, module: &Package{Name: strictyaml.Texts{"a"}, State: "absent"},
			later: map[string]string{"a": "1"}, left: map[string]string{"a": "1"}},
		"upgraded": {have: map[string]string{"a": "1"}, offered: map[string]string{"a": "2"}, module: &Package{Name: strictyaml.Texts{"a"}, State: "latest"},
			later: map[string]string{"a": "1"}, left: map[string]string{"a": "1"}},
		"upgraded for good": {have: map[string]string{"a": "1"}, offered: map[string]string{"a": "2"}, module: &Package{Name: strictyaml.Texts{"a"}, State: "latest"},
			later: map[string]string{"a": "3"}, left: map[string]string{"a": "2"}, stays: "offers a 1"},
	}
	ctx := context.Background()
	for name, tt := range tests {
		for _, program := range programs {
			d := &distribution{installed: clone(tt.have), offered: tt.offered, fresh: true}
			sys := host(t, program, d)
			before, err := Restorer.Read(ctx, sys, "a")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := tasktest.Run(t, sys, tt.module); err != nil {
				t.Fatal(err)
			}
			if len(sys.States()) != 1 {
				t.Errorf("%s, %s: kept %v", name, program, sys.States())
			}
			d.offered, d.strict = tt.later, true
			now, err := Restorer.Read(ctx, sys, "a")
			if err != nil {
				t.Fatal(err)
			}
			why, err := Restorer.Irreversible(ctx, sys, "a", now, before)
			if err != nil || (why != "") != (tt.stays != "") || !strings.Contains(why, tt.stays) {
				t.Errorf("%s, %s: %q, %v", name, program, why, err)
			}
			err = Restorer.Restore(ctx, sys, "a", now, before)
			if stay, ok := errors.AsType[*engine.IrreversibleError](err); ok != (tt.stays != "") || ok && !strings.Contains(stay.Reason, tt.stays) || !ok && err != nil {
				t.Errorf("%s, %s: %v", name, program, err)
			}
			if diff := cmp.Diff(tt.left, d.installed); diff != "" {
				t.Errorf("%s, %s: %s", name, program, diff)
			}
		}
	}
}

func TestPurgeIsIrreversible(t *testing.T) {
	t.Parallel()
	sys := host(t, programs[0], &distribution{installed: map[string]string{"a": "1"}})
	if _, _, err := tasktest.Run(t, sys, &Package{Name: strictyaml.Texts{"a"}, State: "absent", Purge: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"configuration of package a: it was removed with the package"}, sys.Lost()); diff != "" {
		t.Error(diff)
	}
}
