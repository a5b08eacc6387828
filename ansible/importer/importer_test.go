package importer

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ansible/jinja"
	"deployer/inventory"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff before you believe it")

// TestConvert compares each sample with its golden file, and parses the result as an
// inventory of deployer.
func TestConvert(t *testing.T) {
	t.Parallel()
	for sample, kubespray := range map[string]bool{"ini/hosts": false, "yaml/hosts.yml": false, "listing": false, "kubespray": true} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			s, err := Read(filepath.Join("testdata", sample))
			if err != nil {
				t.Fatal(err)
			}
			s.Translate = func(text string) (string, error) {
				out, problems := jinja.PlaybookText(text)
				if len(problems) > 0 {
					return "", problems[0].Err
				}
				return out, nil
			}
			got, err := s.Convert()
			if err != nil {
				t.Fatal(err)
			}
			if got.Kubespray != kubespray {
				t.Errorf("taken for one of Kubespray: %t", got.Kubespray)
			}
			golden := filepath.Join("testdata", strings.Split(sample, "/")[0]+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, got.Text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got.Text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
			if _, err := inventory.Parse("inventory.yaml", got.Text); err != nil {
				t.Errorf("deployer does not read it: %v", err)
			}
			for _, hidden := range []string{"hunter2"} {
				if strings.Contains(string(got.Text), hidden) {
					t.Errorf("the result shows the password %s", hidden)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "names no hosts",
		"[web]\na b":               "hosts:2: want NAME=VALUE after the host",
		"[web]\na x='1":            "hosts:2: a quote is not closed",
		"[web]\nn[1:b]":            "hosts:2: n[1:b]: a range goes from number to number",
		"[web]\nn[9:1]":            "goes backwards",
		"[web]\nn[1:99999]":        "longer than 10000",
		"[web:var]\na=1":           `no section of kind "var"`,
		"[web:vars]\na":            "hosts:2: want NAME=VALUE",
		"[web:children]\na b":      "want the name of a group",
		"#!/usr/bin/env python3\n": "ansible-inventory -i",
		"$ANSIBLE_VAULT;1.1\n":     "ansible-vault decrypt",
		"all:\n  hosts: [a]\n":     "hosts:2: this is not the shape",
		"all:\n  host:\n    a:\n":  "hosts:2: group all: host: is left out",
		"{\"web\": [1]}":           "hosts:1: group web: is left out",
		"[web]\n":                  "names no hosts",
		"a\n[web:vars]\nx=1":       "hosts:2: there is no section [web]",
		"a\n[web:children]\ndb":    "hosts:3: there is no section [db]",
		"a\n[b:children]\nb":       "hosts:3: group b cannot be a child of b",
		"[web]\na:":                "hosts:2: \"a:\" ends in a colon",
		"[web]\nn[01:100]":         "must have one length",
		"plugin: aws_ec2\n":        "hosts:1 is the configuration of a plugin",
	} {
		file := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no inventory file") {
		t.Errorf("error %v", err)
	}
}

// FuzzINI checks that no text crashes the parser, and that an accepted text is written
// as an inventory that deployer reads back with the same values, or refuses.
func FuzzINI(f *testing.F) {
	for _, file := range []string{"testdata/ini/hosts", "testdata/kubespray/inventory.ini"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newSource()
		if err := s.readINI("hosts", text); err != nil {
			if !strings.HasPrefix(err.Error(), "hosts:") {
				t.Errorf("an error without its place: %v", err)
			}
			return
		}
		s.fillUngrouped()
		s.settle()
		r, err := s.Convert()
		if err != nil {
			t.Fatal(err)
		}
		checkRoundTrip(t, s, r)
	})
}
