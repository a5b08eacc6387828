package keyring

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func without(files Files, paths ...string) Files {
	out := files.Clone()
	for _, p := range paths {
		delete(out, p)
	}
	return out
}

func only(files Files, paths ...string) Files {
	out := Files{}
	for _, p := range paths {
		out[p] = files[p]
	}
	return out
}

func TestMergeJoinsTheFilesOfAllMasters(t *testing.T) {
	files := newKeys(t).Files()
	got, err := Merge(map[string]Files{
		"m1": without(files, EtcdCert, EtcdKey),
		"m2": only(files, EtcdCert, EtcdKey),
		"m3": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeFailsForDifferentKeysAndNamesHosts(t *testing.T) {
	a, b := newKeys(t), newKeys(t)
	_, err := Merge(map[string]Files{"m1": a.Files(), "m2": b.Files(), "m3": a.Files()})
	if err == nil {
		t.Fatal("merged two clusters")
	}
	for _, want := range []string{ClusterCert, "m1, m3", "m2", fingerprint(a.files[ClusterCert]), fingerprint(b.files[ClusterCert])} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "PRIVATE") {
		t.Error("the message shows a key")
	}
}

func TestMergeIgnoresATruncatedFile(t *testing.T) {
	files := newKeys(t).Files()
	cut := files.Clone()
	cut[ClusterKey] = []byte("\n")
	got, err := Merge(map[string]Files{"m1": cut, "m2": files})
	if err != nil || string(got[ClusterKey]) != string(files[ClusterKey]) {
		t.Errorf("got %q, %v", got[ClusterKey], err)
	}
}

// TestCompleteRecoversFromEveryInterruptedWrite: a host that is killed during its
// first write has a prefix of the list of files. Complete must complete the keys from
// every prefix.
func TestCompleteRecoversFromEveryInterruptedWrite(t *testing.T) {
	files := newKeys(t).Files()
	for n := range Paths() {
		held := only(files, Paths()[:n]...)
		keys, made, err := Complete(held, time.Now(), 0, nil)
		if err != nil {
			t.Errorf("after %d files: %v", n, err)
			continue
		}
		if diff := cmp.Diff(Paths()[n:], made); diff != "" {
			t.Errorf("after %d files: made %s", n, diff)
		}
		for _, path := range Paths()[:n] {
			if string(keys.files[path]) != string(held[path]) {
				t.Errorf("after %d files: %s was replaced", n, path)
			}
		}
	}
}

func TestCompleteOfAnExistingClusterWithMissingFiles(t *testing.T) {
	files := newKeys(t).Files()
	for _, c := range []struct {
		name  string
		lacks []string
		want  string // part of the error; empty: the files are created
	}{
		{"sa.pub", []string{AccountPub}, ""},
		{"encryption", []string{EncryptionConf}, ""},
		{"front proxy", []string{FrontProxyCert, FrontProxyKey}, ""},
		{"certificate whose key is there", []string{EtcdCert}, ""},
		{"cluster certificate", []string{ClusterCert}, ""},
		{"cluster key", []string{ClusterKey}, "restore " + ClusterKey + " on one master"},
		{"etcd key", []string{EtcdKey}, "restore " + EtcdKey + " on one master"},
		{"front-proxy key", []string{FrontProxyKey}, "restore " + FrontProxyKey + " on one master"},
		{"etcd authority", []string{EtcdCert, EtcdKey}, "restore both"},
		{"account key", []string{AccountKey}, AccountKey},
		{"account keys", []string{AccountKey, AccountPub}, AccountKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, made, err := Complete(without(files, c.lacks...), time.Now(), 0, nil)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("missing files are not created: %v", err)
			case c.want == "" && len(made) != len(c.lacks):
				t.Errorf("made %v, want %v", made, c.lacks)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCertificatesStayValidAfterTheirCACertificateIsLost(t *testing.T) {
	keys := newKeys(t)
	pair, err := keys.Identity(Etcd, "x", nil, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Complete(without(keys.Files(), EtcdCert), time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, _ := again.Authority(Etcd)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Error(err)
	}
}

func TestCompleteFailsForFilesOfDifferentClusters(t *testing.T) {
	a, b := newKeys(t).Files(), newKeys(t).Files()
	for _, c := range []struct {
		path string
		from Files
		want string
	}{
		{ClusterKey, b, "does not belong to"},
		{AccountPub, b, "does not hold the public half"},
		{EncryptionConf, Files{EncryptionConf: []byte("kind: Pod")}, "is not an EncryptionConfiguration"},
		{EtcdCert, Files{EtcdCert: []byte("garbage")}, "reading " + EtcdCert},
	} {
		mixed := a.Clone()
		mixed[c.path] = c.from[c.path]
		if _, _, err := Complete(mixed, time.Now(), 0, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.path, err, c.want)
		}
	}
	if _, _, err := Complete(a, time.Now().Add(11*365*24*time.Hour), 0, nil); err == nil || !strings.Contains(err.Error(), "expired on") {
		t.Errorf("expired authorities: %v", err)
	}
}

// TestMergeOfMastersInTheMiddleOfARotation merges encryption configurations that differ by
// the keys of a rotation; TestMerge of package encryption has the rule.
func TestMergeOfMastersInTheMiddleOfARotation(t *testing.T) {
	keys := newKeys(t)
	file, err := keys.Encryption()
	if err != nil {
		t.Fatal(err)
	}
	added, err := file.Add("key-20261123-073015")
	if err != nil {
		t.Fatal(err)
	}
	cut := keys.Files()
	cut[EncryptionConf] = []byte("\n")
	held := map[string]Files{"m1": keys.Files(), "m2": keys.WithEncryption(added).Files(), "m3": cut}
	merged, err := Merge(held)
	if err != nil || string(merged[EncryptionConf]) != string(added.Bytes()) {
		t.Errorf("merged %s, error %v", merged[EncryptionConf], err)
	}
	held["m4"] = newKeys(t).Files()
	if _, err := Merge(held); err == nil || !strings.Contains(err.Error(), EncryptionConf+" is ") {
		t.Errorf("merged another cluster's: %v", err)
	}
}

// TestOptionalAuthority: the authority of Calico's etcd is made for a cluster that wants it only, is kept,
// and is not made for a cluster in use, whose nodes read another datastore.
func TestOptionalAuthority(t *testing.T) {
	plain := newKeys(t)
	if plain.Has(EtcdCalico) || plain.files[EtcdCalicoKey] != nil {
		t.Error("a cluster without such an etcd has its authority")
	}
	keys, made, err := Complete(nil, time.Now(), 0, nil, EtcdCalico)
	if err != nil || !slices.Contains(made, EtcdCalicoKey) || !keys.Has(EtcdCalico) {
		t.Fatalf("made %q, %v", made, err)
	}
	again, made, err := Complete(keys.Files(), time.Now(), 0, nil)
	if err != nil || len(made) > 0 || !again.Has(EtcdCalico) {
		t.Errorf("made %q, %v", made, err)
	}
	if _, _, err := Complete(plain.Files(), time.Now(), 0, nil, EtcdCalico); err == nil || !strings.Contains(err.Error(), EtcdCalicoCert) {
		t.Errorf("the error is %v", err)
	}
	own, err := keys.Authority(Etcd)
	if err != nil {
		t.Fatal(err)
	}
	other, err := keys.Authority(EtcdCalico)
	if err != nil {
		t.Fatal(err)
	}
	if own.Trusts(other.Cert) || other.Trusts(own.Cert) {
		t.Error("the two authorities of etcd trust each other")
	}
	for _, share := range []Share{{API: true, Calico: true}, {Etcd: true, Calico: true}} {
		for _, f := range keys.Share(share) {
			if f.Secret {
				t.Errorf("%+v gets %s", share, f.Path)
			}
		}
		if !slices.ContainsFunc(keys.Share(share), func(f File) bool { return f.Path == EtcdCalicoCert }) {
			t.Errorf("%+v lacks %s", share, EtcdCalicoCert)
		}
	}
}
