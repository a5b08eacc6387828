//go:build lab

package airgap

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/registry"
	"deployer/test/server"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// TestAirGap installs from a bundle, promotes an image that the cluster has proved, and pulls
// from a private registry.
func TestAirGap(t *testing.T) {
	s := harness.New(t, "airgap", plan.Spec{Masters: 1, Minions: 1})
	if !t.Run("bundle", func(t *testing.T) { installFromBundle(t, s.On(t)) }) {
		return
	}
	t.Run("promotion", func(t *testing.T) { promotion(t, s.On(t)) })
	t.Run("private registry", func(t *testing.T) { privateRegistry(t, s.On(t)) })
}

// emptyMachine is a controller with an empty home and without internet access; it has
// deployer, the inventory and the bundle.
type emptyMachine struct {
	*harness.Site
	home string
}

// run runs a deployer command with an environment that takes nothing from this
// process.
func (m emptyMachine) run(args ...string) harness.Outcome {
	m.T.Helper()
	cmd := m.DeployerCommand(m.T.Context(), args...)
	cmd.Env = []string{"HOME=" + m.home, "PATH=/nothing"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		m.T.Fatal(err)
	}
	m.T.Logf("deployer %s: exit %d", strings.Join(args, " "), cmd.ProcessState.ExitCode())
	return harness.Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// installFromBundle writes a bundle, signs it, and installs from it on a machine that
// has only deployer, the inventory with the files of an add-on, and the bundle.
func installFromBundle(t *testing.T, s *harness.Site) {
	page := filepath.Join(filepath.Dir(s.Inventory), "page.yaml")
	if err := os.WriteFile(page, []byte(harness.PageAddon(t, s.Files.Artifacts())), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster")["addons"] = []any{map[string]any{"name": "page", "namespace": "page", "manifests": []any{"page.yaml"}, "images": "deliver"}}
	})
	dir := t.TempDir()
	bundle := filepath.Join(dir, "site.bundle")
	t.Log(s.Must("images", "bundle", bundle).Stdout)
	s.Edit(func(inv map[string]any) { delete(inv, "artifacts") })
	if err := os.RemoveAll(filepath.Join(filepath.Dir(s.Inventory), "deployer.lock")); err != nil {
		t.Fatal(err)
	}
	machine := emptyMachine{s, t.TempDir()}

	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "minisign.pub")
	text, err := public.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{key: text, bundle + ".minisig": sign(private, content[:len(content)-1])} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := machine.run("install", "--bundle", bundle, "--bundle-key", key)
	s.RequireTexts(refused.All(), "no valid signature")
	if refused.Code == 0 || s.Shell("m1", "ls /etc/kubernetes 2>/dev/null || true") != "" {
		t.Errorf("a bundle with another's signature: exit %d", refused.Code)
	}
	if err := os.WriteFile(bundle+".minisig", sign(private, content), 0o600); err != nil {
		t.Fatal(err)
	}

	installed := machine.run("install", "--bundle", bundle, "--bundle-key", key)
	s.RequireExit(installed, 0)
	s.RequireTexts(installed.Stderr, "artifacts: {source: "+bundle+"}")
	s.RequireTexts(s.Shell("m1", harness.PageCommand), "delivered")
	_, recap := s.Events(machine.run("install", "--bundle", bundle, "--bundle-key", key, "--output", "json"))
	if recap.Changed() != 0 {
		t.Errorf("the second install: %d changed, want 0", recap.Changed())
	}
	// The output of install names this setting for later commands.
	s.Edit(func(inv map[string]any) { harness.Section(inv, "artifacts")["source"] = bundle })
	machine.home = t.TempDir()
	s.RequireExit(machine.run("verify"), 0)
	if _, recap := s.Events(machine.run("install", "--check", "--output", "json")); recap.Changed() != 0 {
		t.Errorf("from the bundle as source: %d would change, want 0", recap.Changed())
	}
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "artifacts")["source"] = s.Files.Artifacts()
	})
}

// sign signs as the program minisign does, which hashes the content first.
func sign(key minisign.PrivateKey, content []byte) []byte {
	r := minisign.NewReader(bytes.NewReader(content))
	_, _ = io.Copy(io.Discard, r) // bytes in memory
	return r.Sign(key)
}

// The host name and the user of the test's registry. Only the proxy resolves the
// name.
const (
	registryHost = "registry.site.invalid:5000"
	image        = registryHost + "/library/sample:1"
	password     = `s3cr3t$of"the'registry`
	proxyWord    = "s3cr3t-of-the-proxy"
)

// privateRegistry pulls with the credentials of the inventory, directly from a mirror and
// through a proxy by name.
func privateRegistry(t *testing.T, s *harness.Site) {
	address := plan.Controller().String()
	certificate := server.NewCertificate(t, address, "registry.site.invalid")
	registry.StartPrivate(t, s.Lab, address+":5000", certificate, "robot", password)
	login := remote.WithAuth(&authn.Basic{Username: "robot", Password: password})
	registry.Push(t, address+":5000/library/sample:1", certificate.Transport(t, s.Lab), login)
	p := &proxy{user: "nodes", password: proxyWord, names: map[string]string{registryHost: address + ":5000"}}
	p.serve(t, s, address+":3128")
	good, err := os.ReadFile(s.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(filepath.Dir(s.Inventory), "registry-password")
	give := func(word string) {
		if err := os.WriteFile(secret, []byte(word+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	s.Edit(func(inv map[string]any) {
		containerd := harness.Section(inv, "cluster", "containerd")
		containerd["authorities"] = map[string]any{registryHost: certificate.PEM, address + ":5000": certificate.PEM}
		containerd["mirrors"] = map[string]any{"docker.io": []any{"https://" + address + ":5000"}}
		login := map[string]any{"username": "robot", "password_file": "registry-password"}
		containerd["credentials"] = map[string]any{registryHost: login, address + ":5000": login}
		proxy := "http://nodes:" + proxyWord + "@" + address + ":3128"
		containerd["https_proxy"] = proxy
		containerd["no_proxy"] = []any{address}
	})
	give("wrong")
	inTheClear := s.Deployer("install")
	s.RequireTexts(inTheClear.All(), "https_proxy", "!env")
	if inTheClear.Code != 2 && inTheClear.Code != 3 {
		t.Errorf("a password of a proxy in the clear: exit %d", inTheClear.Code)
	}
	setProxy(t, s, "http://nodes:"+proxyWord+"@"+address+":3128")
	output := s.Must("install").All()
	if err := s.Pull("m1", "n1", image); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("pulled with a wrong password: %v", err)
	}
	give(password)
	containers := s.Shell("n1", "pgrep -f containerd-shim | sort")
	before := s.Shell("n1", "systemctl show -p MainPID containerd kubelet")
	output += s.Must("install", "-v").All()
	if after := s.Shell("n1", "systemctl show -p MainPID containerd kubelet"); after != before {
		t.Errorf("a password restarted a service of n1: %s, then %s", before, after)
	}
	// The kubelet reads its credentials file again after five minutes at the latest.
	s.Eventually(6*time.Minute, "n1 pulls through the proxy with the password of the registry", func() error { return s.Pull("m1", "n1", image) })
	if p.connected.Load() == 0 {
		t.Error("the proxy had no request")
	}
	if err := s.Pull("m1", "n1", "docker.io/library/sample:1"); err != nil {
		t.Errorf("from the mirror: %v", err)
	}
	if containers == "" {
		t.Error("n1 has no containers")
	}

	for _, file := range []string{"/var/lib/kubelet/config.json", "/etc/containerd/certs.d/docker.io/hosts.toml", "/etc/deployer/containerd.env"} {
		if got := s.Shell("n1", "stat -c '%a %U' "+file); got != "600 root" {
			t.Errorf("%s has the mode and owner %s", file, got)
		}
	}
	if got := s.Shell("n1", "systemctl show containerd | grep -c "+proxyWord+" || true"); got != "0" {
		t.Error("systemctl show, which every user may run, has the password of the proxy")
	}
	output += s.Must("install", "--check", "-v").All()
	for _, word := range []string{password, proxyWord} {
		if strings.Contains(output, word) {
			t.Errorf("the output has the password %s", word)
		}
		if left, _ := exec.CommandContext(t.Context(), "grep", "-rlF", word, s.State).Output(); len(left) > 0 {
			t.Errorf("journals of the controller have the password %s: %s", word, left)
		}
	}

	if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Must("install")
	if left := s.Shell("n1", "ls -d /var/lib/kubelet/config.json /etc/containerd/certs.d/docker.io /etc/containerd/certs.d/registry* /etc/deployer/containerd.env 2>/dev/null || true"); left != "" {
		t.Errorf("without registries n1 still has %s", left)
	}
	if got := s.Shell("n1", "tr '\\0' '\\n' < /proc/$(pidof containerd)/environ | grep -c PROXY || true"); got != "0" {
		t.Error("containerd still has a proxy")
	}
	s.Must("verify")
}

// setProxy replaces the proxy's URL in the inventory by a reference to the
// environment, which gets url.
func setProxy(t *testing.T, s *harness.Site, url string) {
	t.Helper()
	t.Setenv("NODE_PROXY", url)
	raw, err := os.ReadFile(s.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "https_proxy: "+url, "https_proxy: !env NODE_PROXY", 1)
	if text == string(raw) {
		t.Fatalf("the inventory has no https_proxy: %s", url)
	}
	if err := os.WriteFile(s.Inventory, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
