package keyring

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// externalOf returns the certificates of the authorities of keys, as an inventory names
// them, and files of a master without their keys.
func externalOf(t *testing.T, names ...string) (External, Files) {
	t.Helper()
	keys, _, err := Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := keys.Files()
	external := ExternalIn(files, names)
	for _, d := range domains() {
		if _, ok := external[d.name]; ok {
			delete(files, d.keyPath)
		}
	}
	return external, files
}

// TestExternalAuthorities: a cluster is complete without the keys of external authorities,
// no master gets one, and nothing is signed or rotated with them.
func TestExternalAuthorities(t *testing.T) {
	t.Parallel()
	now := time.Now()
	external, _ := externalOf(t, Cluster, Etcd, FrontProxy)
	keys, made, err := Complete(Files{}, now, time.Hour, external)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{ClusterKey, EtcdKey, FrontProxyKey, ClusterSigning} {
		for _, f := range keys.Share(Share{Master: true}) {
			if f.Path == path {
				t.Errorf("a master gets %s", path)
			}
		}
		if strings.Contains(strings.Join(made, " "), path+" ") {
			t.Errorf("%s is made", path)
		}
	}
	if string(keys.Files()[EtcdCert]) != string(external[Etcd]) {
		t.Error("masters do not get the certificate of the inventory")
	}
	for _, name := range []string{Cluster, Etcd, FrontProxy} {
		if _, err := keys.Identity(name, "x", nil, time.Hour, now); !errors.Is(err, ErrExternal) {
			t.Errorf("signing with %s: %v", name, err)
		}
		if _, err := keys.Add(name, now, time.Hour); !errors.Is(err, ErrExternal) {
			t.Errorf("rotating %s: %v", name, err)
		}
	}
	ring := &Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Identity(Etcd, "x", nil, time.Hour, now); err == nil || !strings.Contains(err.Error(), "etcd/healthcheck-client") {
		t.Errorf("an identity that nobody has read: %v", err)
	}

	again, made, err := Complete(keys.Files(), now, time.Hour, external)
	if err != nil || len(made) > 0 || again.Digests()[ClusterCert] != keys.Digests()[ClusterCert] {
		t.Errorf("the files of an installed cluster: made %q, %v", made, err)
	}
}

// TestOneExternalAuthority: the other authorities are created, sign and rotate as
// without an external one.
func TestOneExternalAuthority(t *testing.T) {
	t.Parallel()
	now := time.Now()
	external, _ := externalOf(t, Etcd)
	keys, _, err := Complete(Files{}, now, time.Hour, external)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Identity(Cluster, "x", nil, time.Hour, now); err != nil {
		t.Error(err)
	}
	next, err := keys.Add(Cluster, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := next.Authority(Etcd); !a.External() || next.Files()[EtcdKey] != nil {
		t.Error("the rotation of another authority has made a key")
	}
}

// TestExternalAuthorityOnMasters: a key that must not be there and another authority are
// refused with the host; a certificate that was renewed with its key takes the place of the
// former one.
func TestExternalAuthorityOnMasters(t *testing.T) {
	t.Parallel()
	external, files := externalOf(t, Cluster)
	other, _ := externalOf(t, Cluster)
	renewed := func() Files {
		keys, _, err := Complete(nil, time.Now(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := domains()[0]
		a, _ := keys.Authority(Cluster)
		again, err := selfSign(d, a.key, a.keyPEM, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return Files{"before": a.certPEM, "after": again.certPEM}
	}()
	for name, tt := range map[string]struct {
		external External
		held     map[string]Files
		want     string
	}{
		"masters without an authority":           {external: external, held: map[string]Files{"m1": {}}},
		"the same authority":                     {external: external, held: map[string]Files{"m1": files, "m2": {}}},
		"a renewed certificate of the same key":  {external: External{Cluster: renewed["after"]}, held: map[string]Files{"m1": {ClusterCert: renewed["before"]}, "m2": {ClusterCert: renewed["after"]}}},
		"a master with the key of the authority": {external: external, held: map[string]Files{"m1": files, "m2": {ClusterKey: []byte("x")}}, want: "m2 has /etc/kubernetes/pki/ca.key, and the inventory says that the cluster authority is external"},
		"a master with an unfinished rotation":   {external: external, held: map[string]Files{"m1": {ClusterNext: []byte("x")}}, want: "m1 has /etc/kubernetes/pki/ca-next.pem"},
		"another authority":                      {external: other, held: map[string]Files{"m1": files}, want: "m1 has /etc/kubernetes/pki/ca.crt of another authority"},
	} {
		got, err := tt.external.in(tt.held)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := Merge(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Complete(files, time.Now(), 0, nil); err == nil || !strings.Contains(err.Error(), "external_authorities") {
		t.Errorf("an inventory that does not name the authority: %v", err)
	}
}
