package noderenewal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deployer/cluster"
	"deployer/engine/agent/statedir"
	"deployer/engine/lock"
	"deployer/keeper/certificates"
	"deployer/tasks/certificate"
	"deployer/tasks/control/keyring"
)

func TestRun(t *testing.T) {
	t.Parallel()
	n := newNode(t, 20*day)
	keys := n.read(strings.Replace(serving, ".crt", ".key", 1)) + n.read(strings.Replace(proxy, ".crt", ".key", 1))
	if err := n.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{serving, proxy} {
		if left := n.left(path); left < 364*day {
			t.Errorf("%s lives for %s, want a year", path, left)
		}
	}
	if n.read(strings.Replace(serving, ".crt", ".key", 1))+n.read(strings.Replace(proxy, ".crt", ".key", 1)) != keys {
		t.Error("a key has changed")
	}
	if n.proxy.starts != 1 || n.proxy.read != n.read(proxy) {
		t.Errorf("kube-proxy has started %d times", n.proxy.starts)
	}
	requests := n.requests()
	if len(requests) != 2 || !strings.HasPrefix(requests[0], requestsPath+"/deployer-n1-kube-proxy-") || !strings.HasPrefix(requests[1], requestsPath+"/deployer-n1-kubelet-serving-") {
		t.Fatalf("requests %q", requests)
	}
	for path, want := range map[string][]any{requests[0]: {signerClient, "client auth"}, requests[1]: {signerServing, "server auth"}} {
		spec := n.api.Object(path)["spec"].(map[string]any)
		if spec["signerName"] != want[0] || !slices.Equal(spec["usages"].([]any), []any{"digital signature", want[1]}) {
			t.Errorf("%s: %v", path, spec)
		}
	}
	if err := n.Run(t.Context()); err != nil || len(n.requests()) != 2 || n.proxy.starts != 1 {
		t.Errorf("a second call: %v, requests %q, %d starts", err, n.requests(), n.proxy.starts)
	}
}

// TestDue: one certificate that is due takes those along that would be soon after, and no others. Changes of names are
// those of a run.
func TestDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(n *testNode)
		want   string // certificates that are asked for
	}{
		"nothing": {func(*testNode) {}, ""},
		"one":     {func(n *testNode) { n.issue(n.Certificates[0], 20*day) }, "kubelet-serving"},
		"soon": {func(n *testNode) {
			n.issue(n.Certificates[0], 20*day)
			n.issue(n.Certificates[1], 33*day)
		}, "kube-proxy kubelet-serving"},
		"soon alone": {func(n *testNode) { n.issue(n.Certificates[1], 33*day); n.proxy.read = n.read(proxy) }, ""},
		"missing": {func(n *testNode) {
			_ = os.Remove(n.Root + proxy)
			_ = os.Remove(n.Root + strings.Replace(proxy, ".crt", ".key", 1))
		}, "kube-proxy"},
		"expired":     {func(n *testNode) { n.issue(n.Certificates[1], -time.Minute); n.proxy.read = n.read(proxy) }, "kube-proxy"},
		"other names": {func(n *testNode) { n.Certificates[0].DNS = append(n.Certificates[0].DNS, "m1") }, ""},
		"another authority": {func(n *testNode) {
			keys, _, err := keyring.Complete(keyring.Files{}, time.Now(), 0, nil)
			if err != nil {
				n.t.Fatal(err)
			}
			n.write(keyring.ClusterCert, keys.Files()[keyring.ClusterCert])
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, 200*day)
			if c.change(n); name == "missing" {
				n.proxy.read = "" // it has no file
			}
			err := n.Run(t.Context())
			var got []string
			for _, path := range n.requests() {
				name := strings.TrimPrefix(path, requestsPath+"/deployer-n1-")
				got = append(got, name[:strings.LastIndex(name, "-")])
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%v; requests for %q, want %q\n%s", err, got, c.want, n.said.String())
			}
		})
	}
}

// TestNotIssued: without a good certificate the files stay as they are.
func TestNotIssued(t *testing.T) {
	t.Parallel()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		decide func(n *testNode) func(*x509.CertificateRequest, map[string]any)
		user   string
		want   string
	}{
		"denied": {func(*testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(_ *x509.CertificateRequest, status map[string]any) { conditions(status, "Denied") }
		}, "", "was denied: Reason its message"},
		"failed": {func(*testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(_ *x509.CertificateRequest, status map[string]any) { conditions(status, "Approved", "Failed") }
		}, "", "was not signed: Reason its message"},
		"never approved": {func(*testNode) func(*x509.CertificateRequest, map[string]any) { return pending }, "", "nobody has approved it"},
		"never signed": {func(*testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(_ *x509.CertificateRequest, status map[string]any) { approved(status) }
		}, "", "does the controller manager work"},
		"of another authority": {func(n *testNode) func(*x509.CertificateRequest, map[string]any) {
			keys, _, err := keyring.Complete(keyring.Files{}, time.Now().Add(-time.Hour), 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			n.keys = keys
			return n.decide
		}, "", "it is not signed by"},
		"for another key": {func(n *testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(csr *x509.CertificateRequest, status map[string]any) {
				n.signed(csr, other.Public(), 365*day, status)
			}
		}, "", "it does not belong to the key"},
		"for other names": {func(n *testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(csr *x509.CertificateRequest, status map[string]any) {
				changed := *csr
				if len(changed.DNSNames) > 0 {
					changed.DNSNames = append(slices.Clone(changed.DNSNames), "m1")
				}
				n.signed(&changed, csr.PublicKey, 365*day, status)
			}
		}, "", "its DNS names are"},
		"no certificate": {func(*testNode) func(*x509.CertificateRequest, map[string]any) {
			return func(_ *x509.CertificateRequest, status map[string]any) {
				approved(status)
				status["certificate"] = "bm9uc2Vuc2U="
			}
		}, "", "something that is no certificate"},
		"made by somebody else": {func(n *testNode) func(*x509.CertificateRequest, map[string]any) { return n.decide }, "system:node:n2", "is not the one of this node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, 20*day)
			if c.user != "" {
				n.user = c.user
			}
			n.decideBy(c.decide(n))
			before := n.read(serving) + n.read(proxy)
			err := n.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if n.read(serving)+n.read(proxy) != before || n.proxy.read != n.read(proxy) {
				t.Error("the certificates have changed")
			}
			if _, held := statedir.Open(n.StateDir).RunLock().Current(); held {
				t.Error("the run lock is held")
			}
		})
	}
}

// TestInterrupted: a node that ended while it waited finds its requests again, and one that ended before a restart makes
// up for it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	n := newNode(t, 20*day)
	sign := n.decide
	n.decideBy(pending)
	n.wait = 200 * time.Millisecond
	if err := n.Run(t.Context()); err == nil {
		t.Fatal("no error without a certificate")
	}
	before := n.requests()
	n.decideBy(sign)
	if err := n.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := n.requests(); !slices.Equal(before, after) || n.left(serving) < 364*day {
		t.Errorf("requests %q, then %q", before, after)
	}
	n.proxy.read = "the former one"
	if err := n.Run(t.Context()); err != nil || n.proxy.read != n.read(proxy) || n.proxy.starts != 2 {
		t.Errorf("%v, %d starts of kube-proxy, want 2", err, n.proxy.starts)
	}
}

// TestRenewsAgain: the request of a certificate that was renewed since is not taken for the next one.
func TestRenewsAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t, 20*day)
	for i, life := range []time.Duration{40 * day, 80 * day} {
		n.decideBy(func(csr *x509.CertificateRequest, status map[string]any) { n.signed(csr, csr.PublicKey, life, status) })
		n.RenewBefore = life - 10*day
		if err := n.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if requests := n.requests(); len(requests) != 2*(i+1) {
			t.Errorf("renewal %d: requests %q", i+1, requests)
		}
	}
}

// TestNotWorthIt: a certificate that would be due at once, or ends no later than the former one, is not installed, since
// each call would do it again. One in place of an expired certificate is.
func TestNotWorthIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		former, life time.Duration
		installed    bool
	}{{20 * day, 25 * day, false}, {20 * day, 19 * day, false}, {20 * day, 31 * day, true}, {-time.Minute, 2 * day, true}} {
		n := newNode(t, c.former)
		n.decideBy(func(csr *x509.CertificateRequest, status map[string]any) {
			n.signed(csr, csr.PublicKey, c.life, status)
		})
		before := n.read(proxy)
		err := n.Run(t.Context())
		if (n.read(proxy) != before) != c.installed || (n.proxy.starts > 0) != c.installed {
			t.Errorf("%v: the certificate has changed: %t, %d starts, %v", c, n.read(proxy) != before, n.proxy.starts, err)
		}
		if refused := err != nil && strings.Contains(err.Error(), "kube-proxy ends on "); refused == c.installed {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestOneIsRefused: a certificate that nobody signs does not keep others from being renewed.
func TestOneIsRefused(t *testing.T) {
	t.Parallel()
	for _, of := range []func(*x509.CertificateRequest, map[string]any){
		func(_ *x509.CertificateRequest, status map[string]any) { conditions(status, "Denied") }, pending,
	} {
		n := newNode(t, 20*day)
		sign := n.decide
		n.decideBy(func(csr *x509.CertificateRequest, status map[string]any) {
			if len(csr.DNSNames) > 0 {
				of(csr, status)
				return
			}
			sign(csr, status)
		})
		before := n.read(serving)
		err := n.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "deployer-n1-kubelet-serving-") {
			t.Errorf("%v, want one about the certificate of the kubelet", err)
		}
		if n.read(serving) != before || n.left(proxy) < 364*day || n.proxy.starts != 1 {
			t.Errorf("%s of kube-proxy are left, and it started %d times", n.left(proxy), n.proxy.starts)
		}
	}
}

// TestChangedMeanwhile: what a run wrote while the node waited for its certificate stays.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	n := newNode(t, 20*day)
	sign := n.decide
	n.decideBy(func(csr *x509.CertificateRequest, status map[string]any) {
		n.write(proxy, []byte("newer"))
		sign(csr, status)
	})
	before := n.read(serving)
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), proxy+" has changed since") {
		t.Errorf("%v", err)
	}
	if n.read(proxy) != "newer" || n.read(serving) != before {
		t.Error("a certificate has changed")
	}
}

// TestFailureWaits: after a proof that failed, nothing is tried for a day, unless a certificate has expired.
func TestFailureWaits(t *testing.T) {
	t.Parallel()
	n := newNode(t, 20*day)
	n.proxy.broken = n.read(proxy)
	if err := n.Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	n.proxy.broken = ""
	starts := n.proxy.starts
	if err := n.Run(t.Context()); err != nil || n.proxy.starts != starts || n.left(proxy) > 21*day {
		t.Errorf("an hour later: %v, %d starts after %d", err, n.proxy.starts, starts)
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(n.StateDir, failureName), old, old); err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context()); err != nil || n.left(proxy) < 364*day {
		t.Errorf("a day later: %v", err)
	}
	if !n.failedAt().IsZero() {
		t.Error("the failure is not forgotten")
	}
}

// TestPutsBack: a kube-proxy that does not work with its new certificate gets the former one back, unless that has
// expired.
func TestPutsBack(t *testing.T) {
	t.Parallel()
	for life, want := range map[time.Duration]string{20 * day: "the former certificates are back", -time.Minute: "the new certificates stay"} {
		n := newNode(t, life)
		n.proxy.broken = n.read(proxy)
		before := n.read(serving)
		err := n.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "kube-proxy: it writes no rules") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", life, err, want)
		}
		if back := n.read(serving) == before && n.read(proxy) == n.proxy.broken; back != (life > 0) {
			t.Errorf("%s: the former certificates are back: %t", life, back)
		}
	}
}

// TestHeld: nothing is done while a run of deployer has the lock of the host, before and after the cluster has signed.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		n := newNode(t, 20*day)
		other := statedir.Open(n.StateDir).RunLock()
		defer other.Release()
		take := func() {
			if _, err := other.Take(lock.Holder{Run: "r1", Verb: "install", By: "ann@desk"}); err != nil {
				t.Error(err)
			}
		}
		if !late {
			take()
		} else {
			sign := n.decide
			n.decideBy(func(csr *x509.CertificateRequest, status map[string]any) {
				take()
				sign(csr, status)
			})
		}
		before := n.read(serving) + n.read(proxy)
		err := n.Run(t.Context())
		if !isHeld(err) || !strings.Contains(err.Error(), "run r1 (install) by ann@desk holds the lock on n1") {
			t.Errorf("late %t: %v", late, err)
		}
		if asked := len(n.requests()) > 0; asked != late || n.read(serving)+n.read(proxy) != before {
			t.Errorf("late %t: the node asked: %t, or its files have changed", late, asked)
		}
	}
}

// TestAPIFails: failures that pass are waited for, and refusals are not.
func TestAPIFails(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{http.StatusServiceUnavailable: "", http.StatusForbidden: "the API answers 403: no"} {
		n := newNode(t, 20*day)
		var failed atomic.Int32
		n.api.Before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasPrefix(r.URL.Path, requestsPath) || failed.Add(1) > 3 {
				return false
			}
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "message": "no\x1b[2J"})
			return true
		}
		err := n.Run(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%d: %v, want %q", code, err, want)
		}
	}
}

// TestKubeletClient: the first certificate of a kubelet as a client is renewed, so that none on the host has expired. The
// one that the kubelet has renewed itself stays. The kubelet restarts, as after a renewal by a run, which would restart it
// otherwise.
func TestKubeletClient(t *testing.T) {
	t.Parallel()
	n := newNode(t, 200*day)
	const path = "/var/lib/kubelet/pki/kubelet-client"
	client := certificate.Want{Name: "kubelet-client", Authority: cluster.AuthorityCluster, CN: "system:node:n1", Orgs: []string{"system:nodes"}, Usages: []string{"client"},
		CertPath: path + ".crt", KeyPath: path + ".key", CAPath: keyring.ClusterCert, Rotated: path + "-current.pem"}
	n.issue(client, 20*day)
	n.write(client.Rotated, []byte("the kubelet's"))
	config := n.Config
	config.Certificates = append(slices.Clone(config.Certificates), client)
	renewal, err := New(config, n.Options)
	if err != nil {
		t.Fatal(err)
	}
	var processes []string
	renewal.kubelet, renewal.served, renewal.wait = n.kubelet, n.served, n.wait
	renewal.processes = func(of []certificate.Want) []certificates.Process {
		for _, p := range certificates.Processes(of) {
			processes = append(processes, p.Name)
		}
		return nil
	}
	if err := renewal.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n.left(client.CertPath) < 364*day || n.read(client.Rotated) != "the kubelet's" || !slices.Contains(processes, "kubelet") || !slices.Contains(processes, "kube-proxy") {
		t.Errorf("%s is left; the kubelet's own file has %q; restarted are %v", n.left(client.CertPath), n.read(client.Rotated), processes)
	}
	requests := n.requests()
	if len(requests) != 1 || n.api.Object(requests[0])["spec"].(map[string]any)["signerName"] != signerKubelet {
		t.Errorf("requests %q", requests)
	}
}

// TestOthers: certificates that no signer of Kubernetes signs are not asked for; an annotation of the Node names them.
func TestOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t, 200*day)
	etcd := certificate.Want{Name: "calico-node-etcd", Authority: cluster.AuthorityEtcdCalico, CN: "calico-node", Usages: []string{"client"}, CertPath: "/pki/c.crt", KeyPath: "/pki/c.key", CAPath: keyring.ClusterCert}
	typha := certificate.Want{Name: "calico-typha", Authority: cluster.AuthorityCluster, CN: "deployer:calico-typha", DNS: []string{"n1"}, Usages: []string{"server", "client"}, CertPath: "/pki/t.crt", KeyPath: "/pki/t.key", CAPath: keyring.ClusterCert}
	n.issue(etcd, 5*day)
	n.issue(typha, 10*day)
	own := n.Certificates
	n.Certificates = append(slices.Clone(own), etcd, typha)
	annotation := func() string {
		meta := n.api.Object(ownNode)["metadata"].(map[string]any)
		all, _ := meta["annotations"].(map[string]any)
		text, _ := all[Annotation].(string)
		return text
	}
	if err := n.Run(t.Context()); err != nil || len(n.requests()) > 0 {
		t.Fatalf("%v, requests %q", err, n.requests())
	}
	var got Others
	if err := json.Unmarshal([]byte(annotation()), &got); err != nil || !slices.Equal(got.Names, []string{"calico-node-etcd", "calico-typha"}) || time.Until(got.Expires) > 5*day || time.Until(got.Expires) < 4*day {
		t.Errorf("%v, annotation %s", err, annotation())
	}
	n.Certificates = own
	if err := n.Run(t.Context()); err != nil || annotation() != "" {
		t.Errorf("%v, annotation %q, want none", err, annotation())
	}
}
