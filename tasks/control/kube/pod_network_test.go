package kube

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/tasks/control/kube/kubetest"
)

// The messages are those of a kubelet v1.36 before its network is there, and of one whose container
// runtime is down as well.
const (
	lacksNetwork = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
	lacksMore    = "[container runtime is down, " + lacksNetwork + "]"
)

func putCondition(t *testing.T, api *kubetest.API, name string, status corev1.ConditionStatus, message string) {
	t.Helper()
	var n corev1.Node
	n.Name = name
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: "Kubelet", Message: message}}
	putNode(t, api, n)
}

// TestNetworkLater: a node without a pod network is enough as long as the cluster has none; a
// node that lacks more, or that others are ahead of, is not.
func TestNetworkLater(t *testing.T) {
	for name, c := range map[string]struct {
		n1, n2  string // messages; "Ready" is Ready
		later   bool
		failure string
	}{
		"no network yet":           {lacksNetwork, lacksNetwork, true, ""},
		"it is wanted now":         {lacksNetwork, lacksNetwork, false, "n1 (Kubelet container runtime network not ready"},
		"others have a network":    {lacksNetwork, "Ready", true, "1 of 1 nodes are not Ready: n1"},
		"it lacks more":            {lacksMore, lacksNetwork, true, "container runtime is down"},
		"Ready":                    {"Ready", lacksNetwork, true, ""},
		"another node lacks more":  {lacksNetwork, lacksMore, true, ""},
		"Ready, and nothing later": {"Ready", lacksNetwork, false, ""},
	} {
		api := &kubetest.API{}
		s := newContext(t, api)
		for node, message := range map[string]string{"n1": c.n1, "n2": c.n2} {
			status := corev1.ConditionFalse
			if message == "Ready" {
				status = corev1.ConditionTrue
			}
			putCondition(t, api, node, status, message)
		}
		_, err := (&Node{Name: "n1", Ready: true, NetworkLater: c.later, Timeout: 600 * time.Millisecond}).Check(t.Context(), s)
		if (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPodNetwork: the warning comes when no node is Ready and one lacks the network.
func TestPodNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		messages []string
		present  bool
	}{
		"none has one":              {[]string{lacksNetwork, lacksNetwork}, false},
		"one has, another will":     {[]string{lacksNetwork, "Ready"}, true},
		"one is down, one lacks it": {[]string{lacksMore, lacksNetwork}, false},
		"all are down":              {[]string{lacksMore, lacksMore}, true},
	} {
		api := &kubetest.API{}
		s := newContext(t, api)
		for i, message := range c.messages {
			status := corev1.ConditionFalse
			if message == "Ready" {
				status = corev1.ConditionTrue
			}
			putCondition(t, api, string(rune('a'+i)), status, message)
		}
		change, err := (&PodNetwork{}).Check(t.Context(), s)
		if err != nil || change.Output["present"] != c.present || (len(s.Warnings()) == 0) != c.present {
			t.Errorf("%s: %+v, %v, warnings %q", name, change.Output, err, s.Warnings())
		}
	}
}
