package terraform

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/inventory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestConvert compares inventories with golden files. deployer reads each of them.
func TestConvert(t *testing.T) {
	for _, name := range []string{"aws", "hetzner"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		result, err := Convert(name+".json", text)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".golden.yaml")
		if *update {
			if err := os.WriteFile(golden, result.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(result.Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, err := inventory.Parse(golden, result.Text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrors(t *testing.T) {
	const hosts = `{"kubeone_hosts": {"value": {"control_plane": %s}}}`
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":              {"{\n  \"kubeone_hosts\": x}", "tf.json is not what terraform output -json prints: line 2, column 20: invalid character 'x'"},
		"cut short":            {`{"kubeone_hosts": {`, "tf.json is not what terraform output -json prints"},
		"a list":               {`[]`, "tf.json is not what terraform output -json prints"},
		"two documents":        {`{"kubeone_hosts": {"value": {}}} {}`, "tf.json has text behind the output"},
		"other outputs":        {`{"vpc": {"value": 1}, "zone": {"value": 2}}`, "tf.json has no output kubeone_hosts, only vpc, zone: run terraform output -json"},
		"no outputs":           {`{}`, "has no output kubeone_hosts, only none"},
		"no control plane":     {`{"kubeone_hosts": {"value": {}}}`, "output kubeone_hosts has no control_plane"},
		"no hosts":             {strings.Replace(hosts, "%s", `{"cluster_name": "a"}`, 1), "output kubeone_hosts.control_plane has neither public_address nor private_address"},
		"fewer names":          {strings.Replace(hosts, "%s", `{"private_address": ["10.0.0.1", "10.0.0.2"], "hostnames": ["a"]}`, 1), "has 1 of hostnames, and 2 hosts"},
		"fewer addresses":      {strings.Replace(hosts, "%s", `{"private_address": ["10.0.0.1"], "public_address": ["192.0.2.1", "192.0.2.2"]}`, 1), "has 1 of private_address, and 2 hosts"},
		"the same name twice":  {strings.Replace(hosts, "%s", `{"private_address": ["10.0.0.1", "10.0.0.2"], "hostnames": ["a", "A"]}`, 1), "has a second host a"},
		"a text for addresses": {strings.Replace(hosts, "%s", `{"private_address": "10.0.0.1"}`, 1), "tf.json: output kubeone_hosts: json: cannot unmarshal string"},
	} {
		_, err := Convert("tf.json", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// FuzzConvert: any text is an inventory that deployer reads, or an error.
func FuzzConvert(f *testing.F) {
	for _, name := range []string{"aws", "hetzner"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if result, err := Convert("tf.json", text); err == nil && len(result.Text) == 0 {
			t.Error("neither an inventory nor an error")
		}
	})
}
