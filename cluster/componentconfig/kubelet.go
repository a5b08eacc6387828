package componentconfig

import (
	"path"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/cpuset"
)

// kubelet checks a kubelet's configuration. The rules are those of the
// kubelet, which exits at its start when one is broken: kubernetes
// pkg/kubelet/apis/config/validation/validation.go, unless another source is named.
// Defaults are those of pkg/kubelet/apis/config/v1beta1/defaults.go.
func (k *checker) kubelet(value map[string]any) {
	var c v1beta1.KubeletConfiguration
	if !k.decode(value, &c) {
		return
	}
	k.thresholds("evictionHard", c.EvictionHard)
	k.thresholds("evictionSoft", c.EvictionSoft)
	k.thresholds("evictionMinimumReclaim", c.EvictionMinimumReclaim)
	k.gracePeriods(c.EvictionSoft, c.EvictionSoftGracePeriod)
	k.reserved("systemReserved", c.SystemReserved)
	k.reserved("kubeReserved", c.KubeReserved)
	k.kubeletNumbers(&c)
	k.kubeletWords(&c)
	k.kubeletTimes(&c)
	k.kubeletImages(&c)
	k.kubeletAllocatable(&c)
	k.kubeletAddresses(&c)
}

func (k *checker) kubeletNumbers(c *v1beta1.KubeletConfiguration) {
	k.numbers([]number{
		{"port", orDefault(c.Port, 10250), 1, 65535},
		{"readOnlyPort", int64(c.ReadOnlyPort), 0, 65535},
		{"oomScoreAdj", pointed(c.OOMScoreAdj, -999), -1000, 1000},
		{"imageGCHighThresholdPercent", pointed(c.ImageGCHighThresholdPercent, 85), 0, 100},
		{"imageGCLowThresholdPercent", pointed(c.ImageGCLowThresholdPercent, 80), 0, 100},
		{"iptablesDropBit", pointed(c.IPTablesDropBit, 15), 0, 31},
		{"iptablesMasqueradeBit", pointed(c.IPTablesMasqueradeBit, 14), 0, 31},
		{"nodeLeaseDurationSeconds", orDefault(c.NodeLeaseDurationSeconds, 40), 1, unbounded},
		{"eventBurst", int64(c.EventBurst), 0, unbounded},
		{"eventRecordQPS", pointed(c.EventRecordQPS, 50), 0, unbounded},
		{"kubeAPIBurst", int64(c.KubeAPIBurst), 0, unbounded},
		{"kubeAPIQPS", pointed(c.KubeAPIQPS, 50), 0, unbounded},
		{"maxOpenFiles", c.MaxOpenFiles, 0, unbounded},
		{"maxPods", int64(c.MaxPods), 0, unbounded},
		{"podsPerCore", int64(c.PodsPerCore), 0, unbounded},
		{"nodeStatusMaxImages", pointed(c.NodeStatusMaxImages, 50), -1, unbounded},
		{"registryBurst", int64(c.RegistryBurst), 0, unbounded},
		{"registryPullQPS", pointed(c.RegistryPullQPS, 5), 0, unbounded},
		{"maxParallelImagePulls", pointed(c.MaxParallelImagePulls, 1), 1, unbounded},
		{"containerLogMaxWorkers", pointed(c.ContainerLogMaxWorkers, 1), 1, unbounded},
		{"containerLogMaxFiles", pointed(c.ContainerLogMaxFiles, 5), 2, unbounded},
	})
	if f := c.MemoryThrottlingFactor; f != nil && (*f <= 0 || *f > 1) {
		k.add([]string{"memoryThrottlingFactor"}, "%v is not above 0 and at most 1", *f)
	}
}

// orDefault returns a number, or the default for 0.
func orDefault(n int32, byDefault int64) int64 {
	if n == 0 {
		return byDefault
	}
	return int64(n)
}

func (k *checker) kubeletWords(c *v1beta1.KubeletConfiguration) {
	k.choices([]choice{
		{"cgroupDriver", c.CgroupDriver, []string{"systemd", "cgroupfs"}},                        // pkg/kubelet/cm, NewCgroupManager
		{"cpuManagerPolicy", c.CPUManagerPolicy, []string{"none", "static"}},                     // pkg/kubelet/cm/cpumanager, NewManager
		{"memoryManagerPolicy", c.MemoryManagerPolicy, []string{"None", "Static"}},               // pkg/kubelet/cm/memorymanager, NewManager
		{"authorization.mode", string(c.Authorization.Mode), []string{"AlwaysAllow", "Webhook"}}, // cmd/kubelet/app/auth.go, BuildAuthz
		{"topologyManagerPolicy", c.TopologyManagerPolicy, []string{"none", "best-effort", "restricted", "single-numa-node"}},
		{"topologyManagerScope", c.TopologyManagerScope, []string{"container", "pod"}},
		{"hairpinMode", c.HairpinMode, []string{"promiscuous-bridge", "hairpin-veth", "none"}},
		{"memorySwap.swapBehavior", c.MemorySwap.SwapBehavior, []string{"LimitedSwap", "NoSwap"}},
		{"logging.format", c.Logging.Format, []string{"text", "json"}},                                                                        // component-base/logs/api/v1, Validate
		{"configMapAndSecretChangeDetectionStrategy", string(c.ConfigMapAndSecretChangeDetectionStrategy), []string{"Get", "Cache", "Watch"}}, // pkg/kubelet, NewMainKubelet
	})
	if c.RunOnce {
		k.add([]string{"runOnce"}, "a kubelet that runs once is no node: leave it out")
	}
	// cmd/kubelet/app/server.go, InitializeTLS.
	if _, err := cliflag.TLSVersion(c.TLSMinVersion); err != nil {
		k.add([]string{"tlsMinVersion"}, "%q is unknown: use one of %v", c.TLSMinVersion, cliflag.TLSPossibleVersions())
	}
	if _, err := cliflag.TLSCipherSuites(c.TLSCipherSuites); err != nil {
		k.add([]string{"tlsCipherSuites"}, "%v; possible are %v", err, cliflag.TLSCipherPossibleValues())
	}
}

func (k *checker) kubeletTimes(c *v1beta1.KubeletConfiguration) {
	k.notNegative(map[string]v1.Duration{
		"syncFrequency": c.SyncFrequency, "nodeStatusUpdateFrequency": c.NodeStatusUpdateFrequency, "imageMinimumGCAge": c.ImageMinimumGCAge,
		"imageMaximumGCAge": c.ImageMaximumGCAge, "runtimeRequestTimeout": c.RuntimeRequestTimeout,
		"shutdownGracePeriod": c.ShutdownGracePeriod, "shutdownGracePeriodCriticalPods": c.ShutdownGracePeriodCriticalPods,
	})
	if d := c.CPUCFSQuotaPeriod; d != nil && (d.Duration < time.Millisecond || d.Duration > time.Second) {
		k.add([]string{"cpuCFSQuotaPeriod"}, "%s is out of range: use 1ms to 1s", d.Duration)
	}
	if d := c.ContainerLogMonitorInterval; d != nil && d.Duration < 3*time.Second {
		k.add([]string{"containerLogMonitorInterval"}, "%s is too short: use at least 3s", d.Duration)
	}
	for key, d := range map[string]v1.Duration{"shutdownGracePeriod": c.ShutdownGracePeriod, "shutdownGracePeriodCriticalPods": c.ShutdownGracePeriodCriticalPods} {
		if d.Duration > 0 && d.Duration < time.Second {
			k.add([]string{key}, "%s is too short: use 0s or at least 1s", d.Duration)
		}
	}
	if c.ShutdownGracePeriodCriticalPods.Duration > c.ShutdownGracePeriod.Duration {
		k.add([]string{"shutdownGracePeriodCriticalPods"}, "%s is more than shutdownGracePeriod, %s, of which it is a part", c.ShutdownGracePeriodCriticalPods.Duration, c.ShutdownGracePeriod.Duration)
	}
	if d := c.CrashLoopBackOff.MaxContainerRestartPeriod; d != nil && (d.Duration < time.Second || d.Duration > 300*time.Second) {
		k.add([]string{"crashLoopBackOff", "maxContainerRestartPeriod"}, "%s is out of range: use 1s to 300s", d.Duration)
	}
}

func (k *checker) kubeletImages(c *v1beta1.KubeletConfiguration) {
	high, low := pointed(c.ImageGCHighThresholdPercent, 85), pointed(c.ImageGCLowThresholdPercent, 80)
	if low >= high {
		key := "imageGCLowThresholdPercent"
		if c.ImageGCLowThresholdPercent == nil {
			key = "imageGCHighThresholdPercent"
		}
		k.add([]string{key}, "the low threshold, %d, must be below the high one, %d", low, high)
	}
	if c.ImageMaximumGCAge.Duration > 0 && c.ImageMaximumGCAge.Duration <= c.ImageMinimumGCAge.Duration {
		k.add([]string{"imageMaximumGCAge"}, "%s is not more than imageMinimumGCAge, %s", c.ImageMaximumGCAge.Duration, c.ImageMinimumGCAge.Duration)
	}
	if c.MaxParallelImagePulls != nil && *c.MaxParallelImagePulls > 1 && (c.SerializeImagePulls == nil || *c.SerializeImagePulls) {
		k.add([]string{"maxParallelImagePulls"}, "%d needs serializeImagePulls: false", *c.MaxParallelImagePulls)
	}
	// pkg/kubelet/logs/container_log_manager.go, parseMaxSize.
	if size, err := resource.ParseQuantity(c.ContainerLogMaxSize); c.ContainerLogMaxSize != "" && err != nil {
		k.add([]string{"containerLogMaxSize"}, "%q is not a quantity such as 10Mi", c.ContainerLogMaxSize)
	} else if size.Sign() < 0 {
		k.add([]string{"containerLogMaxSize"}, "%q is negative", c.ContainerLogMaxSize)
	}
	if p := c.PodLogsDir; p != "" && (!path.IsAbs(p) || path.Clean(p) != p) {
		k.add([]string{"podLogsDir"}, "%q is not an absolute path in its shortest form", p)
	}
}

func (k *checker) kubeletAllocatable(c *v1beta1.KubeletConfiguration) {
	words := []string{"pods", "system-reserved", "kube-reserved", "system-reserved-compressible", "kube-reserved-compressible", "none"}
	for i, word := range c.EnforceNodeAllocatable {
		at := []string{"enforceNodeAllocatable"}
		switch {
		case !slices.Contains(words, word):
			k.add(at, "%q is unknown: use %v", word, words)
		case slices.Contains(c.EnforceNodeAllocatable[:i], word):
			k.add(at, "%q is listed twice", word)
		case word == "none" && len(c.EnforceNodeAllocatable) > 1:
			k.add(at, "none cannot be combined with other values")
		case (word == "system-reserved" || word == "system-reserved-compressible") && c.SystemReservedCgroup == "":
			k.add(at, "%s needs systemReservedCgroup", word)
		case (word == "kube-reserved" || word == "kube-reserved-compressible") && c.KubeReservedCgroup == "":
			k.add(at, "%s needs kubeReservedCgroup", word)
		case word != "none" && c.CgroupsPerQOS != nil && !*c.CgroupsPerQOS:
			k.add([]string{"cgroupsPerQOS"}, "%s in enforceNodeAllocatable needs cgroupsPerQOS: true", word)
		}
	}
	if c.CgroupsPerQOS != nil && !*c.CgroupsPerQOS && c.EnforceNodeAllocatable == nil {
		k.add([]string{"cgroupsPerQOS"}, "false needs enforceNodeAllocatable: [none], whose default is [pods]")
	}
	if c.SystemCgroups != "" && c.CgroupRoot == "" {
		k.add([]string{"systemCgroups"}, "it needs cgroupRoot")
	}
	if c.ReservedSystemCPUs == "" {
		return
	}
	if _, err := cpuset.Parse(c.ReservedSystemCPUs); err != nil {
		k.add([]string{"reservedSystemCPUs"}, "%q is not a list of CPUs such as 0-1,4", c.ReservedSystemCPUs)
	}
	if c.SystemReservedCgroup != "" || c.KubeReservedCgroup != "" {
		k.add([]string{"reservedSystemCPUs"}, "it cannot be used with systemReservedCgroup or kubeReservedCgroup")
	}
}

func (k *checker) kubeletAddresses(c *v1beta1.KubeletConfiguration) {
	k.address("address", c.Address)
	if c.PodCIDR != "" {
		k.ranges("podCIDR", []string{c.PodCIDR})
	}
}
