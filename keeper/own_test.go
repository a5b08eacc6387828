package keeper

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/maintenance/leases"
	"deployer/keeper/maintenance/profile"
)

// missing is a certificate that does not exist and that no authority can sign here.
const missing = "{name: admin, authority: cluster, cn: admin, usages: [client], cert_path: /pki/admin.crt, key_path: /pki/admin.key, ca_path: /pki/ca.crt}"

// renewals returns the renewals that the keeper has tried.
func (c *cluster) renewals() (out []actionlog.Entry) {
	for _, d := range c.done {
		if d.Action == string(decide.RenewCertificates) {
			out = append(out, d)
		}
	}
	return out
}

func (c *cluster) reasons() (out []string) {
	for _, p := range c.reported().Problems {
		out = append(out, p.Reason)
	}
	return out
}

// pass1 makes one pass.
func (c *cluster) pass1() {
	c.t.Helper()
	file, err := config.Read(c.options.Config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.pass(c.t.Context(), file, nil)
}

var renewalKey = profile.LeaseKey{Namespace: "kube-system", Name: "deployer-keeper-certificates"}

// TestRenewalFails: the keeper says so, tries no second time at once, and keeps the lease, so that other
// masters do not fail alike.
func TestRenewalFails(t *testing.T) {
	c := newCluster(t, "", missing)
	for range 3 {
		c.pass1()
	}
	done := c.renewals()
	if len(done) != 1 || done[0].Object != "Node m1" || !strings.Contains(done[0].Why, "admin: key /pki/admin.key: it does not exist") || done[0].Result == actionlog.ResultDone {
		t.Fatalf("%+v, want one renewal that failed", done)
	}
	if reasons := c.reasons(); !slices.Contains(reasons, decide.RenewalFailed) || !slices.Contains(reasons, decide.CertificateWrong) {
		t.Errorf("problems %v", reasons)
	}
	lease, ok, err := leases.Read(t.Context(), c.access.Kube, renewalKey)
	if err != nil || !ok || lease.Holder != "m1" || lease.Free(time.Now().Add(50*time.Minute)) {
		t.Errorf("lease %+v, %t, %v: want one of m1 for an hour", lease, ok, err)
	}
	if !slices.ContainsFunc(c.api.Paths(), func(path string) bool { return strings.HasPrefix(path, "/api/v1/namespaces/default/events/m1.") }) {
		t.Errorf("no event among %q", c.api.Paths())
	}
}

// TestRenewalWaits: nothing is renewed out of turn, in a pause, in a dry run, or when it is switched off.
func TestRenewalWaits(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		prepare  func(*cluster)
		result   string // of an action; empty: there is none
	}{
		"another master has the lease": {"", func(c *cluster) {
			c.api.Put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"+renewalKey.Name, map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
				"metadata": map[string]any{"namespace": "kube-system", "name": renewalKey.Name},
				"spec":     map[string]any{"holderIdentity": "m2", "renewTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "leaseDurationSeconds": 3600}})
		}, ""},
		"paused": {"", func(c *cluster) {
			c.api.Put("/api/v1/namespaces/kube-system/configmaps/deployer-keeper", map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"namespace": "kube-system", "name": "deployer-keeper"}, "data": map[string]any{"pause": `{"by": "ann@desk", "since": "2026-11-28T03:00:00Z"}`}})
		}, ""},
		"off":     {"certificates: {renew: false}", func(*cluster) {}, ""},
		"dry run": {"dry_run: true", func(*cluster) {}, actionlog.ResultDryRun},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t, c.settings, missing)
			c.prepare(k)
			k.pass1()
			k.pass1()
			done := k.renewals()
			if c.result == "" && len(done) > 0 || c.result != "" && (len(done) != 1 || done[0].Result != c.result) {
				t.Errorf("%+v, want %q", done, c.result)
			}
			if off := name == "off"; off != slices.Contains(k.reasons(), decide.NotDone) {
				t.Errorf("problems %v", k.reasons())
			}
			if reasons := k.reasons(); !slices.Contains(reasons, decide.CertificateWrong) || slices.Contains(reasons, decide.RenewalFailed) {
				t.Errorf("problems %v", reasons)
			}
		})
	}
}

// TestHostNotObserved: what the runtime of containers does not answer is said at each pass, and asked once.
func TestHostNotObserved(t *testing.T) {
	c := newCluster(t, "certificates: {renew: false}", strings.ReplaceAll(missing, "admin", "scheduler"))
	if err := os.MkdirAll(c.dir+"/etc/kubernetes/manifests", 0o755); err != nil {
		t.Fatal(err)
	}
	c.file("etc/kubernetes/manifests/kube-scheduler.yaml", "no manifest")
	c.pass1()
	asked := c.own.stale.at
	c.pass1()
	if reasons := c.reasons(); !slices.Contains(reasons, decide.HostNotObserved) || asked.IsZero() || c.own.stale.at != asked {
		t.Errorf("problems %v; asked at %s and at %s", reasons, asked, c.own.stale.at)
	}
}
