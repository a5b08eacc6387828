package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/pipeline"
	"deployer/engine/journal"
	"deployer/runs"
	"deployer/runs/history"
)

// TestStepOfCI: CI resumes the run whose id it has written down, also from the records of hosts,
// and only when the record is that of its step.
func TestStepOfCI(t *testing.T) {
	const id = "20261127-030000.000-0123abcd"
	book := strings.ReplaceAll(thirty(), "{{ release }}", "7")
	for name, c := range map[string]struct {
		run  []string // what the record of the hosts says
		step []string // what CI has started
		want string   // the refusal; empty for none
	}{
		"the same run":          {[]string{"run", "site.yaml"}, []string{"run", "site.yaml"}, ""},
		"variables":             {[]string{"run", "site.yaml", "-e", "release=7"}, []string{"run", "site.yaml"}, `variable "release": want none`},
		"hosts":                 {[]string{"run", "site.yaml", "--limit", "n001"}, []string{"run", "site.yaml"}, `limit: want "", the record has "n001"`},
		"another verb":          {[]string{"run", "site.yaml"}, []string{"apply", "--yes"}, `verb: want "install", the record has "run"`},
		"a run, not a rollback": {[]string{"run", "site.yaml"}, []string{"rollback", "--yes"}, `verb: want "revert", the record has "run"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestSiteWith(t, 3, slowHosts, map[string]string{"site.yaml": book})
			t.Setenv(pipeline.RunVariable, id)
			s.kill([]string{`"name":"step 12"`, "step.end", `"changed"`}, c.run...)
			if got := s.runs()[0].Header.Run; got != id {
				t.Fatalf("the run is %s, want %s", got, id)
			}
			s.anotherMachine(map[string]string{"site.yaml": book})
			t.Setenv(pipeline.RunVariable, id[:len(id)-1]+"e")
			flags := []string{"--yes", "--lock-timeout", "1m", "--playbook", "site.yaml"}
			for _, word := range c.step {
				flags = append(flags, "--step="+word)
			}
			_, complaint := s.deployer(exitUsage, append([]string{"resume", id[:len(id)-2]}, flags...)...)
			requireTexts(t, complaint, "there is no run "+id[:len(id)-2])
			if c.want != "" {
				_, complaint := s.deployer(exitRefused, append([]string{"resume", id}, flags...)...)
				requireTexts(t, complaint, "nothing was changed: the record of run "+id+" is not that of the step deployer "+strings.Join(c.step, " "), c.want)
				return
			}
			s.deployer(exitOK, append([]string{"resume", id}, flags...)...)
			if got := s.hostFile(2, "b29"); got != "7" {
				t.Errorf("the last step has left %q", got)
			}
			if last := s.runs()[0].Header; last.Resumes != id || last.Run != id[:len(id)-1]+"e" {
				t.Errorf("resumed: %+v", last)
			}
			if _, set := os.LookupEnv(pipeline.RunVariable); set {
				t.Error("programs of the run have its id")
			}
		})
	}
}

// TestInvocationsOfSteps compares the invocations of CI's steps with those of the verbs.
func TestInvocationsOfSteps(t *testing.T) {
	newTestSite(t, 1, nil)
	const inventory = "ci.yaml"
	if err := os.WriteFile(inventory, []byte(`cluster: {name: lab, kubernetes: v1.35.4}
hosts: {"m[1:3]": {address: "10.0.0.[1:3]"}, "n[1:2]": {address: "10.0.0.[11:12]"}}
roles: {master: "m[1:3]", minion: "n[1:2]"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]journal.Invocation{
		"apply --yes":         {Verb: "install"},
		"scale-up n2":         {Verb: "scale-up", Joining: []string{"n2"}},
		"scale-down --yes n2": {Verb: "scale-down", Leaving: []string{"n2"}, Extra: map[string]any{"wipe": false, "drain_timeout": "10m0s", "delete_emptydir_data": false, "force": false, "disable_eviction": false}},
		"scale-down --keep-node --yes --allow-masters m3": {Verb: "scale-down", Leaving: []string{"m3"}, KeepNodes: true,
			Extra: map[string]any{"wipe": false, "drain_timeout": "10m0s", "delete_emptydir_data": false, "force": false, "disable_eviction": false}},
		"rollback --yes": {Verb: "revert", Reverts: "claimed"},
	} {
		got, err := ciStep(strings.Fields(line)).invocation(t.Context(), env{stderr: os.Stderr}, &history.Entry{Record: &journal.Record{Header: journal.Header{Invocation: journal.Invocation{Reverts: "claimed"}}}, Here: true}, runs.Options{Invocation: journal.Invocation{Inventory: inventory}})
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		got.Inventory = ""
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	got, err := ciStep{"upgrade", "--batch-size=5%"}.invocation(t.Context(), env{stderr: os.Stderr}, &history.Entry{Record: &journal.Record{}}, runs.Options{Invocation: journal.Invocation{Inventory: inventory}})
	if err != nil || got.Verb != "upgrade" || got.Extra["upgrade_batch"] != "5%" {
		t.Errorf("upgrade: %+v, %v", got, err)
	}
}
