package keyring

import (
	"bytes"
	"crypto/x509"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stages returns the keys before and after each step of a rotation of the cluster
// authority.
func stages(t *testing.T) (steady, trusted, signing, dropped *Keys) {
	t.Helper()
	steady = newKeys(t)
	var err error
	if trusted, err = steady.Add(Cluster, time.Now(), authorityValidity); err != nil {
		t.Fatal(err)
	}
	if signing, err = trusted.Promote(Cluster, time.Now()); err != nil {
		t.Fatal(err)
	}
	if dropped, err = signing.Drop(Cluster, time.Now()); err != nil {
		t.Fatal(err)
	}
	return steady, trusted, signing, dropped
}

func authorityOf(t *testing.T, k *Keys) *Authority {
	t.Helper()
	a, err := k.Authority(Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRotationOfAnAuthority goes through all stages: at each stage, leaves of the
// stage before verify, and leaves of the former authority do not verify after it is
// dropped.
func TestRotationOfAnAuthority(t *testing.T) {
	steady, trusted, signing, dropped := stages(t)
	all := []*Keys{steady, trusted, signing, dropped}
	for i, want := range []Stage{Steady, Trusted, Signing, Steady} {
		a := authorityOf(t, all[i])
		if a.Stage() != want || len(a.trusted) != []int{1, 2, 2, 1}[i] || a.MadeByRotation() != (i > 1) {
			t.Errorf("step %d: stage %s with %d certificates, made by a rotation: %v", i, a.Stage(), len(a.trusted), a.MadeByRotation())
		}
		again, made, err := Complete(all[i].Files(), time.Now(), 0, nil)
		if err != nil || len(made) > 0 {
			t.Fatalf("step %d: the files are not complete: %v, %v", i, made, err)
		}
		if diff := cmp.Diff(all[i].Files(), again.Files()); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
		if first, err := decodeCert(a.Bundle()); err != nil || !first.Equal(a.Cert) {
			t.Errorf("step %d: the first certificate does not sign: %v", i, err)
		}
		signs := all[i].written()[ClusterSigning]
		if certs, err := ParseCertificates(signs); err != nil || len(certs) != 1 || !certs[0].Equal(a.Cert) {
			t.Errorf("step %d: %s has %d certificates, %v", i, ClusterSigning, len(certs), err)
		}
	}
	for i, signer := range all {
		pair, err := signer.Identity(Cluster, "x", nil, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for j, verifier := range all {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authorityOf(t, verifier).Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
			want := (j != 3 || i >= 2) && (j != 0 || i < 2)
			if (err == nil) != want {
				t.Errorf("a leaf of step %d verifies at step %d: %v", i, j, err)
			}
		}
	}
	if bytesDiffer := string(trusted.files[EtcdCert]) != string(dropped.files[EtcdCert]); bytesDiffer {
		t.Error("the rotation of the cluster authority changes that of etcd")
	}
	digests := func(k *Keys) string { return k.Digests()[ClusterCert] }
	if digests(trusted) != digests(signing) || digests(steady) == digests(trusted) || digests(signing) == digests(dropped) {
		t.Error("the digest of trusted certificates does not follow the set of them")
	}
	if steady.Digests()[EncryptionConf] != dropped.Digests()[EncryptionConf] {
		t.Error("digests of other files change")
	}
}

func TestStepsInTheWrongOrder(t *testing.T) {
	steady, trusted, signing, _ := stages(t)
	for name, step := range map[string]func() (*Keys, error){
		"promote without a next authority": func() (*Keys, error) { return steady.Promote(Cluster, time.Now()) },
		"drop before it signs":             func() (*Keys, error) { return trusted.Drop(Cluster, time.Now()) },
		"add twice":                        func() (*Keys, error) { return trusted.Add(Cluster, time.Now(), time.Hour) },
		"add before the former is dropped": func() (*Keys, error) { return signing.Add(Cluster, time.Now(), time.Hour) },
	} {
		if _, err := step(); err == nil || !strings.Contains(err.Error(), "this step begins at") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMergeOfRotatedAuthorities merges masters that a rotation has reached to a different
// extent.
func TestMergeOfRotatedAuthorities(t *testing.T) {
	steady, trusted, signing, dropped := stages(t)
	later, err := dropped.Add(Cluster, time.Now(), authorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	other, err := steady.Add(Cluster, time.Now().Add(time.Minute), authorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	onlyNext := steady.Files()
	onlyNext[ClusterNext] = trusted.files[ClusterNext]
	keyFirst := trusted.Files()
	keyFirst[ClusterKey] = signing.files[ClusterKey]
	spaced := trusted.Files()
	spaced[ClusterCert] = append([]byte("# by hand\n"), spaced[ClusterCert]...)
	for _, c := range []struct {
		name    string
		masters []Files
		want    *Keys // nil: a conflict
	}{
		{"one master has the next authority", []Files{steady.Files(), trusted.Files(), steady.Files()}, trusted},
		{"killed behind the first file", []Files{onlyNext, steady.Files()}, trusted},
		{"one master signs", []Files{trusted.Files(), signing.Files(), trusted.Files()}, signing},
		{"killed behind the key", []Files{keyFirst, trusted.Files()}, signing},
		{"one master has dropped the former one", []Files{signing.Files(), dropped.Files(), signing.Files()}, dropped},
		{"a master was off during the rotation", []Files{steady.Files(), dropped.Files(), dropped.Files()}, dropped},
		{"a master was off since the first phase", []Files{trusted.Files(), dropped.Files()}, dropped},
		{"a master was off for two rotations", []Files{steady.Files(), later.Files()}, later},
		{"two next authorities", []Files{trusted.Files(), other.Files()}, other},
		{"a master without files", []Files{{}, signing.Files()}, signing},
		{"comments", []Files{steady.Files(), spaced}, trusted},
		{"another cluster", []Files{steady.Files(), newKeys(t).Files()}, nil},
		{"another cluster in the middle of a rotation", []Files{dropped.Files(), signing.Files(), newKeys(t).Files()}, nil},
	} {
		for _, reversed := range []bool{false, true} {
			masters := slices.Clone(c.masters)
			if reversed {
				slices.Reverse(masters)
			}
			held := map[string]Files{}
			for i, files := range masters {
				held["m"+string(rune('1'+i))] = files
			}
			merged, err := Merge(held)
			if c.want == nil {
				if err == nil || !strings.Contains(err.Error(), "masters hold different keys") {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s (reversed %v): %v", c.name, reversed, err)
				continue
			}
			got, made, err := Complete(merged, time.Now(), 0, nil)
			if err != nil || len(made) > 0 {
				t.Errorf("%s: %v, made %v", c.name, err, made)
				continue
			}
			if diff := cmp.Diff(describe(t, c.want), describe(t, got)); diff != "" {
				t.Errorf("%s (reversed %v): %s", c.name, reversed, diff)
			}
		}
	}
}

// describe returns the signer, the stage, and the trusted certificates of the cluster
// authority.
func describe(t *testing.T, k *Keys) []string {
	t.Helper()
	a := authorityOf(t, k)
	out := []string{string(a.Stage()), "signs " + fingerprint(a.certPEM)}
	for _, c := range a.trusted {
		out = append(out, "trusts "+fingerprint(encodeCert(c.Raw)))
	}
	if a.next != nil {
		out = append(out, "next "+fingerprint(a.next.certPEM))
	}
	return out
}

// TestKeyringAcceptsTheNextStage: a run fills its keyring with each stage.
func TestKeyringAcceptsTheNextStage(t *testing.T) {
	steady, trusted, signing, dropped := stages(t)
	var ring Keyring
	for _, k := range []*Keys{steady, trusted, signing, dropped} {
		if err := ring.Fill(k); err != nil {
			t.Error(err)
		}
	}
	if err := ring.Fill(newKeys(t)); err == nil {
		t.Error("accepted another cluster")
	}
}

// process is a server with a certificate. It trusts the authorities that its host's
// file had at the last start.
type process struct {
	trusts []*x509.Certificate
	leaf   *x509.Certificate // the certificate that it serves and presents to other processes
}

// world is a cluster in the middle of rotations: the files of the masters, and a process
// on each host. The hosts m* are masters.
type world struct {
	t         *testing.T
	random    *rand.Rand
	files     map[string]Files
	processes map[string]*process
	now       time.Time
	off       string // host that takes no part; empty: none
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), files: map[string]Files{}, processes: map[string]*process{}, now: time.Now()}
	keys := newKeys(t)
	for _, host := range []string{"m1", "m2", "m3", "n1", "n2"} {
		w.files[host] = Files{}
		w.write(host, keys, 99)
		w.processes[host] = &process{}
		w.renew(host, keys)
		w.restart(host)
	}
	return w
}

// signedBy compares key identifiers, which takes less time than checking a signature.
func signedBy(leaf, authority *x509.Certificate) bool {
	return bytes.Equal(leaf.AuthorityKeyId, authority.SubjectKeyId)
}

func (w *world) masters() map[string]Files {
	held := map[string]Files{}
	for _, m := range []string{"m1", "m2", "m3"} {
		held[m] = w.files[m]
	}
	return held
}

// write writes the files of a host as the module ca_files does; the process is killed
// after n files.
func (w *world) write(host string, keys *Keys, n int) {
	for _, f := range keys.Share(Share{Master: host[0] == 'm', API: true}) {
		if n--; n < 0 {
			return
		}
		w.files[host][f.Path] = []byte(f.Content)
	}
}

// renew issues a leaf when the present one was not signed by the first authority of
// the host's file, as the module certificate does.
func (w *world) renew(host string, keys *Keys) {
	certs, err := ParseCertificates(w.files[host][ClusterCert])
	if err != nil {
		w.t.Fatal(err)
	}
	p := w.processes[host]
	if p.leaf != nil && signedBy(p.leaf, certs[0]) {
		return
	}
	pair, err := keys.Identity(Cluster, host, nil, time.Hour, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	if !signedBy(pair.Leaf, certs[0]) {
		w.t.Fatalf("%s: the controller signs with another authority than the first one of the host's file", host)
	}
	p.leaf = pair.Leaf
}

// restart restarts the process of a host.
func (w *world) restart(host string) {
	certs, err := ParseCertificates(w.files[host][ClusterCert])
	if err != nil {
		w.t.Fatal(err)
	}
	w.processes[host].trusts = certs
}

// require fails when a process does not trust another one.
func (w *world) require(event string) {
	w.t.Helper()
	for from, p := range w.processes {
		for to, q := range w.processes {
			if from == w.off || to == w.off {
				continue
			}
			if !slices.ContainsFunc(q.trusts, func(c *x509.Certificate) bool { return signedBy(p.leaf, c) }) {
				w.t.Fatalf("after %s: %s does not trust %s", event, to, from)
			}
		}
	}
}

// load returns the keys of all masters; install and the rotation begin with it.
func (w *world) load() *Keys {
	w.t.Helper()
	merged, err := Merge(w.masters())
	if err != nil {
		w.t.Fatal(err)
	}
	keys, made, err := Complete(merged, w.now, 0, nil)
	if err != nil || len(made) > 0 {
		w.t.Fatalf("made %v: %v", made, err)
	}
	return keys
}

// killed reports whether a run ends here.
func (w *world) killed() bool { return w.random.IntN(12) == 0 }

func (w *world) hosts() []string {
	hosts := []string{"m1", "m2", "m3", "n1", "n2"}
	w.random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	return slices.DeleteFunc(hosts, func(host string) bool { return host == w.off })
}

// each changes the hosts in some order, and returns false when the run was killed.
func (w *world) each(event string, change func(host string) bool) bool {
	for _, host := range w.hosts() {
		if !change(host) {
			return false
		}
		w.require(event + " on " + host)
	}
	return true
}

// install writes all files, renews all leaves and then restarts processes, and may be
// killed anywhere.
func (w *world) install() {
	keys := w.load()
	_ = w.each("files of install", func(host string) bool {
		if w.killed() {
			w.write(host, keys, w.random.IntN(8))
			return false
		}
		w.write(host, keys, 99)
		return true
	}) && w.each("leaves of install", func(host string) bool {
		if w.killed() {
			return false
		}
		w.renew(host, keys)
		return true
	}) && w.each("restarts of install", func(host string) bool {
		if w.killed() {
			return false
		}
		w.restart(host)
		return true
	})
}

// rotate rotates the authority as the playbook of deployer certs rotate-ca does. It
// returns true when the rotation is complete.
func (w *world) rotate() bool {
	keys := w.load()
	trust := func(host string) bool {
		if w.killed() {
			w.write(host, keys, w.random.IntN(8))
			return false
		}
		w.write(host, keys, 99)
		if w.killed() {
			return false
		}
		w.restart(host)
		return true
	}
	step := func(from Stage, take func() (*Keys, error)) {
		if authorityOf(w.t, keys).Stage() != from {
			return
		}
		next, err := take()
		if err != nil {
			w.t.Fatal(err)
		}
		keys = next
	}
	w.now = w.now.Add(time.Second)
	step(Steady, func() (*Keys, error) { return keys.Add(Cluster, w.now, authorityValidity) })
	if !w.each("phase 1", trust) {
		return false
	}
	step(Trusted, func() (*Keys, error) { return keys.Promote(Cluster, w.now) })
	if !w.each("phase 2", func(host string) bool {
		if w.killed() {
			w.write(host, keys, w.random.IntN(8))
			return false
		}
		w.write(host, keys, 99)
		w.renew(host, keys)
		return true
	}) {
		return false
	}
	step(Signing, func() (*Keys, error) { return keys.Drop(Cluster, w.now) })
	return w.each("phase 3", trust)
}

// TestRotationsThatAreKilled rotates repeatedly, with kills at any place, crashes of
// processes and installs in between. Every process trusts every other one after each
// event.
func TestRotationsThatAreKilled(t *testing.T) {
	ended := 0
	for seed := range uint64(40) {
		w := newWorld(t, seed)
		if seed%3 == 0 {
			w.off = "n2"
		}
		for range 25 {
			switch w.random.IntN(4) {
			case 0:
				w.install()
			case 1:
				host := w.hosts()[0]
				w.restart(host)
				w.require("a crash on " + host)
			default:
				if w.rotate() {
					ended++
				}
			}
			w.require("a run")
		}
		// A host that was off gets all files from an install that completes.
		w.off = ""
		keys := w.load()
		for _, host := range w.hosts() {
			w.write(host, keys, 99)
			w.renew(host, keys)
			w.restart(host)
		}
		w.require("the return of the host that was off")
	}
	if ended < 50 {
		t.Errorf("only %d rotations came to their end", ended)
	}
}
