//go:build lab

package networks

import (
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// otherAddress is the address to which the test changes, and from which it changes back.
const otherAddress = "172.31.0.201"

// TestVirtualIPChange replaces the address by another one, and that by the first, while clients use
// them. Without the former address beside the new one, install refuses the change.
func TestVirtualIPChange(t *testing.T) {
	scenario(t)
	s := harness.New(t, "networks", plan.Spec{Masters: 3})
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "api")["virtual_ip"] = map[string]any{"address": virtualAddress}
	})
	s.Must("install")
	v := &virtual{Site: s, holders: []string{"m1", "m2", "m3"}}
	install := func(address string, former ...any) harness.Outcome {
		v.Edit(func(inv map[string]any) {
			set := harness.Section(inv, "cluster", "api", "virtual_ip")
			set["address"] = address
			delete(set, "former")
			if len(former) > 0 {
				set["former"] = former
			}
		})
		return v.Deployer("install")
	}
	o := install(otherAddress)
	v.RequireExit(o, refused)
	v.RequireTexts(o.All(), "the cluster has "+virtualAddress, "write former: ["+virtualAddress+"] beside it")

	v.RequireTexts(install(virtualAddress).All(), "0 changed")

	for _, c := range []struct {
		name, address string
		former        []any
	}{
		{"a second address, beside the first", otherAddress, []any{virtualAddress}},
		{"back to the first, beside the second", virtualAddress, []any{otherAddress}},
		{"the second is taken out", virtualAddress, nil},
	} {
		before := v.holder()
		client := startClient(v) // uses the address of the state before
		if o := install(c.address, c.former...); o.Code != 0 {
			t.Fatalf("%s:\n%s", c.name, o.All())
		}
		answers, writes := client.stop()
		v.record(c.name, before+" to "+v.holder(), answers, writes)
		v.RequireTexts(v.Must("kubeconfig").Stdout, "server: https://"+c.address+":6443")
		client = startClient(v)
		time.Sleep(2 * time.Second)
		answers, writes = client.stop()
		v.record(c.name+", the new one", v.holder(), answers, writes)
		for _, host := range v.holders {
			has := strings.Contains(v.Shell(host, "ip -o address show"), " "+otherAddress+"/")
			if want := host == v.holder() && (c.address == otherAddress || len(c.former) > 0); has != want {
				t.Errorf("%s: %s has the second address: %v, want %v", c.name, host, has, want)
			}
		}
		v.Must("verify")
	}
	v.RequireTexts(v.Must("install").All(), "0 changed")
}
