package main

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
	"deployer/tasks/control/requests"
)

// externalSite is a cluster whose authorities are in a directory of their own, pki, in
// which openssl has made them. Its hosts have no certificates.
type externalSite struct{ *certifiedSite }

func newExternalSite(t *testing.T) *externalSite {
	t.Helper()
	s := &externalSite{newCertifiedSite(t)}
	for _, h := range s.fleet.Hosts {
		for _, dir := range []string{"/etc/kubernetes", "/etc/etcd", "/var/lib/kubelet"} {
			if err := os.RemoveAll(filepath.Join(h.Root, dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range s.fleet.Hosts {
		s.writeHostFile(i, "/etc/group", "root:x:0:\netcd:x:0:\n")
	}
	s.write("pki/x", "")
	for _, name := range cluster.Authorities() {
		s.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "pki/"+name+".key", "-out", "pki/"+name+".crt",
			"-days", "30", "-subj", "/CN=site "+name, "-addext", "keyUsage=critical,keyCertSign,cRLSign")
	}
	s.setExternal(map[string]any{"cluster": "pki/cluster.crt", "etcd": "pki/etcd.crt", "front_proxy": "pki/front-proxy.crt"})
	return s
}

// setExternal writes the section external_authorities of the inventory.
func (s *externalSite) setExternal(section map[string]any) {
	s.t.Helper()
	data, err := os.ReadFile("inventory.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		s.t.Fatal(err)
	}
	doc["cluster"].(map[string]any)["certificates"] = map[string]any{"external_authorities": section}
	if data, err = yaml.Marshal(doc); err != nil {
		s.t.Fatal(err)
	}
	s.write("inventory.yaml", string(data))
}

func (s *externalSite) openssl(args ...string) {
	s.t.Helper()
	if out, err := exec.CommandContext(s.t.Context(), "openssl", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("openssl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// out returns the paths of the open requests, without the ending.
func (s *externalSite) out() []string {
	s.t.Helper()
	found, err := filepath.Glob("certificate-requests/*/*/*.csr")
	if err != nil {
		s.t.Fatal(err)
	}
	for i, path := range found {
		found[i] = strings.TrimSuffix(path, ".csr")
	}
	return found
}

// sign lets the owners of the authorities sign requests, as the guide describes.
func (s *externalSite) sign(days string, paths ...string) {
	s.t.Helper()
	for _, path := range paths {
		authority := "pki/" + strings.Split(path, "/")[1]
		s.openssl("x509", "-req", "-in", path+".csr", "-CA", authority+".crt", "-CAkey", authority+".key", "-days", days, "-extfile", path+".ext", "-out", path+".crt")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCertsRequests: each certificate gets one request, its key stays on the host, a
// second call changes nothing, and signed requests are no longer open.
func TestCertsRequests(t *testing.T) {
	s := newExternalSite(t)
	m, n := s.fleet.Hosts[0].Name, s.fleet.Hosts[1].Name
	s.deployer(exitOK, "certs", "requests", "--check")
	if got := s.out(); len(got) != 0 {
		t.Errorf("a dry run wrote %q", got)
	}
	stdout, _ := s.deployer(exitOK, "certs", "requests")
	if !strings.Contains(strings.Join(strings.Fields(stdout), " "), "cluster/"+n+"/kubelet-serving.csr server /O=system:nodes/CN=system:node:"+n+" it does not exist") {
		t.Error(stdout)
	}
	all := s.out()
	// The master has 9 with the one of deployer itself, etcd 4, and each node 3.
	if len(all) != 19 || !slices.Contains(all, "certificate-requests/etcd/"+m+"/etcd-peer") || !slices.Contains(all, "certificate-requests/cluster/"+m+"/super-admin") {
		t.Errorf("%d requests: %q", len(all), all)
	}
	if keys, err := filepath.Glob("certificate-requests/*/*/*.key"); err != nil || len(keys) > 0 {
		t.Errorf("the controller has keys: %q, %v", keys, err)
	}
	key := filepath.Join(s.fleet.Hosts[1].Root, "/var/lib/kubelet/pki/kubelet-serving.key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key of the host: %v, %v", info, err)
	}
	before := map[string]string{key: read(t, key), "index": read(t, "certificate-requests/requests.json")}
	for _, path := range all {
		before[path+".csr"] = read(t, path+".csr")
	}
	before["index"] = ""
	stdout, _ = s.deployer(exitOK, "certs", "requests")
	if !strings.Contains(stdout, "19 requests are out in certificate-requests") {
		t.Error(stdout)
	}
	for path, content := range before {
		if path != "index" && read(t, path) != content {
			t.Errorf("the second call wrote %s anew", path)
		}
	}

	s.sign("20", "certificate-requests/cluster/"+m+"/scheduler", "certificate-requests/cluster/"+m+"/admin")
	s.deployer(exitOK, "certs", "requests", "--within", "240h")
	if got := s.out(); len(got) != 17 || slices.Contains(got, "certificate-requests/cluster/"+m+"/admin") {
		t.Errorf("behind two answers: %d %q", len(got), got)
	}
	s.deployer(exitOK, "certs", "requests", n)
	if got := s.out(); len(got) != 17 {
		t.Errorf("the requests of other hosts are gone: %q", got)
	}
	s.deployer(exitOK, "certs", "requests", m)
	if got := s.out(); len(got) != 19 {
		t.Errorf("certificates that are valid for 20 days are no answer for 30: %q", got)
	}
	index, err := requests.ReadIndex("certificate-requests")
	if err != nil || len(index.Requests) != 19 || index.Requests[0].Validity != "8760h0m0s" {
		t.Errorf("%+v, %v", index, err)
	}
}

// TestExternalCertificatesRequired: certs renew and install change nothing before
// each host can have its certificates, and name the missing certificates.
func TestExternalCertificatesRequired(t *testing.T) {
	s := newExternalSite(t)
	m := s.fleet.Hosts[0].Name
	refused := func(want ...string) {
		t.Helper()
		stdout, stderr := s.deployer(exitRefused, "certs", "renew", "--yes")
		for _, text := range want {
			if !strings.Contains(stdout+stderr, text) {
				t.Errorf("want %q:\n%s%s", text, stdout, stderr)
			}
		}
		for _, h := range s.fleet.Hosts {
			if _, err := os.Stat(filepath.Join(h.Root, "/etc/kubernetes/pki/ca.crt")); err == nil {
				t.Errorf("%s was changed", h.Name)
			}
		}
	}
	refused("nothing was changed", "deployer certs requests", m, "certificate etcd/peer", "it does not exist, and the host has no key yet")
	s.deployer(exitOK, "certs", "requests")
	refused("it does not exist, and none is issued")
	s.sign("365", s.out()...)
	peer := "certificate-requests/etcd/" + m + "/etcd-peer"
	good := read(t, peer+".crt")
	s.openssl("x509", "-req", "-in", peer+".csr", "-CA", "pki/etcd.crt", "-CAkey", "pki/etcd.key", "-days", "1", "-out", peer+".crt")
	refused(peer + ".crt cannot be installed: its DNS names are [], want [localhost " + m + "]")
	s.write(peer+".crt", good)
	if err := os.Remove(filepath.Join(s.fleet.Hosts[0].Root, "/etc/etcd/pki/peer.key")); err != nil {
		t.Fatal(err)
	}
	refused("certificate etcd/peer", "is for another key than that of the host")
}

// TestExternalAuthorityFiles: a file that is no authority is an error with the line of the
// inventory and that of the file, before a host is contacted; verbs that need the key of an
// external authority are refused.
func TestExternalAuthorityFiles(t *testing.T) {
	s := newExternalSite(t)
	for _, h := range s.fleet.Hosts {
		h.Stop()
	}
	for _, tt := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{"certs", "rotate-ca"}, "the cluster authority is external"},
		{exitUsage, []string{"certs", "renew", "--all"}, "certs requests --within"},
	} {
		if _, stderr := s.deployer(tt.code, tt.args...); !strings.Contains(stderr, tt.want) {
			t.Errorf("%q: %s", tt.args, stderr)
		}
	}
	s.write("pki/leaf.crt", read(t, "pki/etcd.key"))
	s.setExternal(map[string]any{"cluster": "pki/none.crt", "etcd": "pki/leaf.crt"})
	_, stderr := s.deployer(exitUsage, "certs", "requests")
	for _, want := range []string{
		"inventory.yaml:", "cluster.certificates.external_authorities.cluster: open ", "none.crt: no such file",
		"cluster.certificates.external_authorities.etcd: pki/leaf.crt: line 1: there is a PRIVATE KEY",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("want %q: %s", want, stderr)
		}
	}
	s.setExternal(map[string]any{"etcd": "pki/etcd.crt"})
	if _, stderr := s.deployer(exitUsage, "certs", "rotate-ca"); !strings.Contains(stderr, "the etcd authority is external: its owner replaces it; deployer rotates the others with --authority cluster --authority front-proxy") {
		t.Error(stderr)
	}
	s.setExternal(map[string]any{})
	if _, stderr := s.deployer(exitUsage, "certs", "requests"); !strings.Contains(stderr, "names no external authority") {
		t.Error(stderr)
	}
}

// TestCertsRequestsAreResumed: a run that could not reach a host offers resume, and resume
// continues it.
func TestCertsRequestsAreResumed(t *testing.T) {
	s := newExternalSite(t)
	s.fleet.Hosts[1].Stop()
	stdout, _ := s.deployer(exitPartial, "certs", "requests")
	if !strings.Contains(stdout, "deployer resume") {
		t.Errorf("no resume is offered:\n%s", stdout)
	}
	if _, stderr := s.deployer(exitPartial, "resume"); strings.Contains(stderr, "cannot be resumed") {
		t.Error(stderr)
	}
}

// TestEtcdNeedsItsExternalCertificates: a replacement and a restore, which install no
// certificates, end before the first change when a certificate is not on its host.
func TestEtcdNeedsItsExternalCertificates(t *testing.T) {
	s := newExternalSite(t)
	m := s.fleet.Hosts[0]
	// A snapshot ends with the digest of the database before it.
	database := strings.Repeat("\x00", 512)
	digest := sha256.Sum256([]byte(database))
	s.write("snapshot.db", database+string(digest[:]))
	for _, args := range [][]string{
		{"etcd", "replace", m.Name, "--yes"},
		{"etcd", "restore", "snapshot.db", "--yes", "--cluster", "prod", "--unauthenticated"},
	} {
		stdout, stderr := s.deployer(exitRefused, args...)
		for _, want := range []string{"nothing was changed", "deployer certs requests", "deployer certs renew"} {
			if !strings.Contains(stdout+stderr, want) {
				t.Errorf("%q: want %q:\n%s%s", args, want, stdout, stderr)
			}
		}
	}
	if found, err := filepath.Glob(filepath.Join(m.Root, "var/lib/etcd/*")); err != nil || len(found) > 0 {
		t.Errorf("the host has %q, %v", found, err)
	}
}

// TestAnotherExternalAuthority: a certificate with another key cannot replace an
// authority. The refusal comes before keys and requests are made, and before
// certificates are required.
func TestAnotherExternalAuthority(t *testing.T) {
	s := newExternalSite(t)
	m := s.fleet.Hosts[0]
	ca := filepath.Join(m.Root, "etc/kubernetes/pki/ca.crt")
	if err := os.MkdirAll(filepath.Dir(ca), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ca, []byte(read(t, "pki/cluster.crt")), 0o644); err != nil {
		t.Fatal(err)
	}
	s.deployer(exitOK, "certs", "requests")
	requests := s.out()
	s.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "pki/cluster.key", "-out", "pki/cluster.crt",
		"-days", "30", "-subj", "/CN=site cluster", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
	for _, path := range requests {
		if err := os.Remove(path + ".csr"); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"certs", "requests"}, {"certs", "renew", "--yes"}} {
		stdout, stderr := s.deployer(exitRefused, args...)
		if text := stdout + stderr; !strings.Contains(text, "of another authority") || !strings.Contains(text, "renewed with the same key and subject") {
			t.Errorf("%q: %s", args, text)
		}
		if got := s.out(); len(got) > 0 {
			t.Errorf("%q: requests to the other authority: %q", args, got)
		}
	}
}
