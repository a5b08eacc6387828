package cluster_test

import (
	"testing"

	"deployer/cluster"
)

func TestSizeProfile(t *testing.T) {
	cases := []struct {
		nodes, replicas, memory int
		name                    string
	}{
		{1, 1, 170, "small"}, {10, 2, 170, "small"}, {11, 2, 170, "medium"}, {100, 7, 170, "medium"},
		{500, 32, 171, "large"}, {501, 32, 512, "xlarge"}, {1000, 32, 512, "xlarge"}, {5000, 32, 512, "xlarge"},
	}
	for _, tc := range cases {
		c := mustResolve(t, cluster.Spec{PodCIDR: "10.128.0.0/11"}, fleet(masters(1), minions(tc.nodes-1)))
		if c.Size.Name != tc.name || c.DNS.Replicas != tc.replicas || c.DNS.MemoryLimitMiB != tc.memory {
			t.Errorf("%d nodes: %s, %d replicas of %d MiB; want %s, %d of %d", tc.nodes, c.Size.Name, c.DNS.Replicas, c.DNS.MemoryLimitMiB, tc.name, tc.replicas, tc.memory)
		}
	}
}

// TestSizeGrows: no value of a larger cluster is smaller than that of a smaller one.
func TestSizeGrows(t *testing.T) {
	var last cluster.SizeProfile
	for _, n := range []int{1, 2, 5, 10, 11, 50, 100, 101, 300, 500, 501, 1000, 2000} {
		s := mustResolve(t, cluster.Spec{PodCIDR: "10.128.0.0/11"}, fleet(masters(1), minions(n-1))).Size
		grows := s.RequestsInflight >= last.RequestsInflight && s.MutatingInflight >= last.MutatingInflight &&
			s.ControllerQPS >= last.ControllerQPS && s.ControllerBurst >= last.ControllerBurst &&
			s.SchedulerQPS >= last.SchedulerQPS && s.SchedulerBurst >= last.SchedulerBurst &&
			s.EtcdQuotaBytes >= last.EtcdQuotaBytes && s.ProxyConnections >= last.ProxyConnections &&
			s.ProxyCheckInterval >= last.ProxyCheckInterval && s.DNSReplicas >= last.DNSReplicas && s.DNSMaxConcurrent >= last.DNSMaxConcurrent &&
			s.DNSMemoryLimitMiB >= last.DNSMemoryLimitMiB && s.DNSCacheSize >= last.DNSCacheSize
		if !grows {
			t.Errorf("%d nodes get less than fewer nodes: %+v after %+v", n, s, last)
		}
		if s.ControllerBurst < s.ControllerQPS || s.SchedulerBurst < s.SchedulerQPS {
			t.Errorf("%d nodes: a burst below its rate: %+v", n, s)
		}
		last = s
	}
}

func TestSizeByHand(t *testing.T) {
	spec := cluster.Spec{Size: "large", DNS: cluster.DNSSpec{Replicas: 5, MemoryLimit: 64}, Etcd: cluster.EtcdSpec{QuotaBackendBytes: 1 << 30}}
	c := mustResolve(t, spec, masters(1))
	if c.Size.RequestsInflight != 800 || c.DNS.Replicas != 5 || c.Size.EtcdQuotaBytes != 1<<30 {
		t.Errorf("what is named does not win: %+v %+v", c.Size, c.DNS)
	}
	if c.DNS.MemoryRequestMiB > c.DNS.MemoryLimitMiB {
		t.Errorf("request %d MiB is above the limit %d MiB", c.DNS.MemoryRequestMiB, c.DNS.MemoryLimitMiB)
	}
}
