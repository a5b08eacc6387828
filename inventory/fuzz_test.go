package inventory

import (
	"errors"
	"testing"

	"deployer/strictyaml"
)

// FuzzParse checks that no file makes the reader panic, that errors name their file,
// and that an accepted inventory is consistent.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{full, "", "hosts: {a: }", "hosts: {\"n[1:3]\": {address: \"10.0.0.[1:3]\"}}",
		"hosts: &h {a: &a {ssh: {bastion: {host: b}}}, b: *a}\ngroups: {g: {hosts: a, children: g}}",
		"hosts: {a: {vars: !secret {x: y}}}\nroles: {master: a}\nmax_fail: {all: 5%}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		inv, err := read(string(data), nil)
		if err != nil {
			var errs strictyaml.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("error of type %T: %v", err, err)
			}
			for _, e := range errs {
				if e.File == "" || e.Msg == "" {
					t.Errorf("error without a file or text: %+v", e)
				}
			}
			return
		}
		if len(inv.Hosts) == 0 {
			t.Fatal("no hosts, and no error")
		}
		all, err := inv.Match("all")
		if err != nil || len(all) != len(inv.Hosts) {
			t.Errorf("all matches %d of %d hosts: %v", len(all), len(inv.Hosts), err)
		}
		for name, hosts := range inv.Table() {
			for _, h := range hosts {
				if _, ok := inv.Host(h); !ok {
					t.Errorf("group %s has unknown host %s", name, h)
				}
			}
		}
		inv.Origins(inv.Hosts[0].Name)
	})
}
