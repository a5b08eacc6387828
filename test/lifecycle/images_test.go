//go:build lab

package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// imagesCollected makes the kubelets remove all images that they may remove, of which an
// upgrade has left those of the former version. Images that static pods and the cluster DNS
// need stay, those that no container uses as well.
func imagesCollected(s *site) {
	good := s.inventory()
	former := "/kube-proxy:" + older
	if got := s.nodesWithImage(former); len(got) < len(nodes) {
		s.T.Fatalf("only %v have the image of kube-proxy %s", got, older)
	}
	before := s.pinnedImages()
	s.Edit(func(inv map[string]any) {
		kubelet := harness.Section(inv, "cluster", "overrides", "kubelet")
		kubelet["imageGCHighThresholdPercent"], kubelet["imageGCLowThresholdPercent"] = 2, 1
	})
	s.Must("install")
	// A kubelet collects images every five minutes (ImageGCPeriod of Kubernetes).
	s.Eventually(11*time.Minute, "the kubelets remove the image of kube-proxy "+older, func() error {
		if got := s.nodesWithImage(former); len(got) > 0 {
			return fmt.Errorf("%v still have it", got)
		}
		return nil
	})
	if diff := cmp.Diff(before, s.pinnedImages()); diff != "" {
		s.T.Errorf("pinned images (- before, + after kubelets removed images):\n%s", diff)
	}
	s.unchanged("after kubelets removed images")
	s.setInventory(good)
	s.Must("install")
	s.unchanged("with the former thresholds")
}

// nodesWithImage returns the nodes that have an image whose name contains a text.
func (s *site) nodesWithImage(text string) []string {
	s.T.Helper()
	var out []string
	for _, n := range nodes {
		if strings.Contains(s.Shell(n, "ctr -n k8s.io images ls -q"), text) {
			out = append(out, n)
		}
	}
	return out
}

// pinnedImages returns the names of the images that the kubelet of each node must keep.
func (s *site) pinnedImages() map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for _, n := range nodes {
		out[n] = s.PinnedImages(n)
		if !strings.Contains(out[n], "/kube-proxy:") {
			s.T.Errorf("the image of kube-proxy is not pinned on %s:\n%s", n, out[n])
		}
	}
	return out
}
