//go:build lab

package airgap

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"deployer/test/harness"
	"deployer/test/lab/plan"
	"deployer/test/registry"
)

// promotion copies the image of cluster DNS to the production registry. It is refused
// while the cluster differs from its inventory, and while the cluster is not healthy.
func promotion(t *testing.T, s *harness.Site) {
	mirror := plan.Controller().String() + ":5001"
	registry.StartOpen(t, s.Lab, mirror)
	run := func(args ...string) harness.Outcome {
		t.Helper()
		return s.Run(append([]string{"images"}, args...)...)
	}
	must := func(args ...string) {
		t.Helper()
		s.RequireExit(run(args...), 0)
	}
	promote := func(to string, more ...string) harness.Outcome {
		t.Helper()
		return run(append([]string{"promote", "coredns", "--insecure", "--registry", mirror, "--to", to}, more...)...)
	}
	must("test", "coredns")
	must("push", "coredns", "--insecure", "--registry", mirror)
	s.RequireExit(promote("staging"), 0)

	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "kubelet")["max_pods"] = 99 })
	refused := promote("production", "-i", s.Inventory)
	s.RequireTexts(refused.All(), "differ")
	s.Edit(func(inv map[string]any) { delete(harness.Section(inv, "cluster", "kubelet"), "max_pods") })
	s.Shell("n1", "systemctl stop deployer-pods")
	unhealthy := promote("production", "-i", s.Inventory)
	s.Shell("n1", "systemctl start deployer-pods")
	s.RequireTexts(unhealthy.All(), "deployer-pods")
	if refused.Code == 0 || unhealthy.Code == 0 {
		t.Errorf("exit codes %d and %d", refused.Code, unhealthy.Code)
	}
	before := tags(t, s, mirror)
	s.RequireExit(promote("production", "-i", s.Inventory), 0)
	after := tags(t, s, mirror)
	for tag, digest := range after {
		version, testing := strings.CutSuffix(tag, "-testing")
		if !testing {
			continue
		}
		if before[version] != "" || after[version] != digest {
			t.Errorf("production had %q and has %q, want none and %s", before[version], after[version], digest)
		}
		return
	}
	t.Errorf("no tag for testing: %v", after)
}

// tags returns the digests of the tags of cluster DNS in a registry of the lab.
func tags(t *testing.T, s *harness.Site, mirror string) map[string]string {
	t.Helper()
	transport := &http.Transport{DialContext: s.Dial}
	defer transport.CloseIdleConnections()
	options := []remote.Option{remote.WithTransport(transport), remote.WithContext(t.Context())}
	repository, err := name.NewRepository(mirror+"/registry.k8s.io/coredns/coredns", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	names, err := remote.List(repository, options...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, tag := range names {
		d, err := remote.Head(repository.Tag(tag), options...)
		if err != nil {
			t.Fatal(err)
		}
		out[tag] = d.Digest.String()
	}
	return out
}
