package noderenewal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/cluster"
)

const goodConfig = `# Written by deployer.
node: n1
address: "10.0.0.1"
api: {server: "https://127.0.0.1:6443", masters: ["10.0.0.1:6443"], ca: /ca, cert: /cert, key: /key, rotated: /rotated}
certificates:
  - {name: kubelet-serving, authority: cluster, cn: "system:node:n1", orgs: ["system:nodes"], dns: [n1], ips: [10.0.0.1], usages: [server], cert_path: /c, key_path: /k, ca_path: /ca, owner: root, rotated: ""}
renew_before: 720h0m0s
`

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("c.yaml", []byte(goodConfig))
	if err != nil || c.Node != "n1" || c.RenewBefore != 720*time.Hour || len(c.Certificates) != 1 || c.API.Rotated != "/rotated" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, tt := range map[string]struct{ from, to, want string }{
		"unknown key":         {"renew_before", "renew_befor", "c.yaml:7:1"},
		"missing key":         {"address: \"10.0.0.1\"\n", "", "address"},
		"no lifetime":         {"720h0m0s", "0s", "renew_before must be more than 0"},
		"nothing":             {goodConfig, "", "is empty"},
		"certificates of old": {"cert_path: /c", "cert: /c", "cert"},
	} {
		_, err := ParseConfig("c.yaml", []byte(strings.Replace(goodConfig, tt.from, tt.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestMainChecks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	for name, c := range map[string]struct {
		text string
		args []string
		code int
		said string
	}{
		"good":         {goodConfig, []string{"-check", file}, 0, ""},
		"bad":          {"node: n1\n", []string{"-check", file}, 2, "deployer-agent certificates: "},
		"no such file": {goodConfig, []string{"-config", dir + "/none"}, 2, "reading the configuration of the node's certificates"},
		"no authority": {goodConfig, []string{"-config", file}, 1, "reading the certificate of an authority"},
		"an argument":  {goodConfig, []string{"now"}, 2, "usage: "},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, complaints bytes.Buffer
		if code := Main(c.args, dir, &out, &complaints); code != c.code || !strings.Contains(complaints.String(), c.said) {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, complaints.String(), c.code, c.said)
		}
	}
}

// TestNames: the names that this package has of its own, because the agent does not contain package cluster, are those
// of the cluster.
func TestNames(t *testing.T) {
	if authorityCluster != cluster.AuthorityCluster {
		t.Errorf("authority %s", authorityCluster)
	}
	for _, state := range []string{cluster.CertificateExpiring, cluster.CertificateExpired, cluster.CertificateMissing, cluster.CertificateDamaged} {
		if !renewable(state) {
			t.Errorf("a certificate that is %s is not renewed", state)
		}
	}
	if renewable(cluster.CertificateOK) || renewable(cluster.CertificateAuthority) {
		t.Error("a good certificate is renewed, or one of another authority")
	}
}
