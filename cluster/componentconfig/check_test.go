package componentconfig

import (
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/cluster"
)

// resolve returns a small cluster with the overrides in a text.
func resolve(t *testing.T, overrides, policy string) *cluster.Cluster {
	t.Helper()
	spec := cluster.Spec{Overrides: map[string]any{}}
	if err := yaml.Unmarshal([]byte(overrides), &spec.Overrides); err != nil {
		t.Fatal(err)
	}
	if policy != "" {
		on := true
		spec.API.Audit.Enabled = &on
		if err := yaml.Unmarshal([]byte(policy), &spec.API.Audit.Policy); err != nil {
			t.Fatal(err)
		}
	}
	hosts := []cluster.Host{{Name: "m1", Address: "10.0.0.1", Roles: []string{"master"}}, {Name: "n1", Address: "10.0.0.2", Roles: []string{"minion"}}}
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatAComponentWouldRefuse(t *testing.T) {
	for overrides, want := range map[string]string{
		"kubelet: {evictionHard: {memory.available: bogus}}":                     `cluster.overrides.kubelet.evictionHard.memory.available: "bogus" is neither a quantity such as 100Mi nor a percentage such as 5%`,
		"kubelet: {evictionHard: {memory.available: 100}}":                       `evictionHard.memory.available: 100 is not text (write it in quotes)`,
		"kubelet: {evictionHard: {memory.availabel: 5%}}":                        `the kubelet knows no eviction signal "memory.availabel"; did you mean "memory.available"?`,
		"kubelet: {evictionHard: {nodefs.available: 120%}}":                      `"120%" is not a percentage`,
		"kubelet: {evictionHard: {nodefs.available: -1Gi}}":                      `"-1Gi" is not above zero`,
		"kubelet: {evictionSoft: {memory.available: 5%}}":                        `evictionSoft.memory.available: a soft threshold needs a grace period`,
		"kubelet: {evictionSoftGracePeriod: {memory.available: soon}}":           `"soon" is not a duration`,
		"kubelet: {evictionHrd: {memory.available: 5%}}":                         `cluster.overrides.kubelet.evictionHrd: there is no such setting; did you mean "evictionHard"?`,
		"kubelet: {authentication: {anonymus: {enabled: false}}}":                `authentication.anonymus: there is no such setting; did you mean "anonymous"?`,
		"kubelet: {syncFrequency: 10}":                                           `syncFrequency: 10 is not a duration`,
		"kubelet: {syncFrequency: ten}":                                          `syncFrequency: "ten" is not a duration`,
		"kubelet: {maxPods: many}":                                               `maxPods: "many" is not a whole number`,
		"kubelet: {maxPods: 1.5}":                                                `maxPods: 1.5 is not a whole number`,
		"kubelet: {failSwapOn: 'no'}":                                            `failSwapOn: "no" is not true or false`,
		"kubelet: {tlsCipherSuites: TLS_X}":                                      `tlsCipherSuites: "TLS_X" is not a list`,
		"kubelet: {systemReserved: {memory: lots}}":                              `systemReserved.memory: "lots" is not a quantity`,
		"kubelet: {kubeReserved: {ram: 1Gi}}":                                    `kubeReserved.ram: "ram" cannot be reserved: use cpu, memory`,
		"kubelet: {cgroupDriver: systemdd}":                                      `cgroupDriver: "systemdd" is unknown: use systemd, cgroupfs`,
		"kubelet: {cpuManagerPolicy: dynamic}":                                   `"dynamic" is unknown: use none, static`,
		"kubelet: {topologyManagerPolicy: best}":                                 `"best" is unknown: use none, best-effort`,
		"kubelet: {memoryManagerPolicy: static}":                                 `"static" is unknown: use None, Static`,
		"kubelet: {imageGCHighThresholdPercent: 70}":                             `imageGCHighThresholdPercent: the low threshold, 80, must be below the high one, 70`,
		"kubelet: {imageGCHighThresholdPercent: 120}":                            `120 is out of range: use 0 to 100`,
		"kubelet: {readOnlyPort: 70000}":                                         `70000 is out of range: use 0 to 65535`,
		"kubelet: {featureGates: {NodeSwap: 'on'}}":                              `featureGates.NodeSwap: "on" is not true or false`,
		"kubelet: {tlsCipherSuites: [TLS_X]}":                                    `tlsCipherSuites: Cipher suite TLS_X not supported or doesn't exist`,
		"kubelet: {tlsMinVersion: TLS12}":                                        `tlsMinVersion: "TLS12" is unknown`,
		"kubelet: {shutdownGracePeriodCriticalPods: 30s}":                        `30s is more than shutdownGracePeriod`,
		"kubelet: {enforceNodeAllocatable: [system-reserved]}":                   `system-reserved needs systemReservedCgroup`,
		"kubelet: {reservedSystemCPUs: 'a'}":                                     `"a" is not a list of CPUs`,
		"kubelet: {containerLogMaxSize: big}":                                    `"big" is not a quantity`,
		"kubelet: {containerLogMaxFiles: 1}":                                     `1 is too small: use at least 2`,
		"kubelet: {nodeLeaseDurationSeconds: -1}":                                `-1 is too small: use at least 1`,
		"kubelet: {reservedMemory: [{numaNode: 0, limts: {}}]}":                  `reservedMemory.[0].limts: there is no such setting; did you mean "limits"?`,
		"kube_proxy: {conntrack: {maxPerCore: -1}}":                              `cluster.overrides.kube_proxy.conntrack.maxPerCore: -1 is too small`,
		"kube_proxy: {metricsBindAddress: '10249'}":                              `"10249" is not an address with a port`,
		"kube_proxy: {iptables: {minSyncPeriod: 1m, syncPeriod: 30s}}":           `iptables.minSyncPeriod: 1m0s is more than syncPeriod, 30s`,
		"kube_proxy: {nodePortAddresses: [10.0.0.1]}":                            `nodePortAddresses.[0]: "10.0.0.1" is not a range`,
		"kube_proxy: {detectLocalMode: Bridge}":                                  `"Bridge" is unknown`,
		"kube_proxy: {iptabels: {syncPeriod: 30s}}":                              `did you mean "iptables"?`,
		"kubelet: {logging: {format: xml}}":                                      `logging.format: "xml" is unknown`,
		"kubelet: {crashLoopBackOff: {maxContainerRestartPeriod: 10m}}":          `10m0s is out of range`,
		"kubelet: {reservedMemory: [{numaNode: 0, limits: {memory: big}}]}":      `reservedMemory.[0].limits.memory: "big" is not a quantity`,
		"kubelet: {featureGates: {NodeSwapp: true}}":                             `cluster.overrides.kubelet.featureGates.NodeSwapp: Kubernetes v1.36.3 has no feature gate "NodeSwapp"; did you mean "NodeSwap"?`,
		"kube_proxy: {featureGates: {Nonsens: true}}":                            `overrides.kube_proxy.featureGates.Nonsens: Kubernetes v1.36.3 has no feature gate "Nonsens"`,
		"apiserver: {extra_args: {feature-gates: 'NodeSwap=true,AllBta=false'}}": `cluster.overrides.apiserver.extra_args.feature-gates: Kubernetes v1.36.3 has no feature gate "AllBta"; did you mean "AllBeta"?`,
		"kubelet: {extra_args: {feature-gates: 'AllBeta=true,NodeSwap=maybe'}}":  `cluster.overrides.kubelet.extra_args.feature-gates: the value of feature gate NodeSwap, "maybe", is not true or false`,
		"scheduler: {extra_args: {feature-gates: NodeSwap}}":                     `overrides.scheduler.extra_args.feature-gates: the value of feature gate NodeSwap, "", is not true or false`,
		"scheduler: {extra_args: {feature-gates: 'kube:DynamicResource=true'}}":  `no feature gate "DynamicResource"`,
		"containerd: {max_container_log_linesize: 1}":                            `cluster.overrides.containerd.max_container_log_linesize: there is no such setting; did you mean "max_container_log_line_size"?`,
		"containerd: {enable_cdi: 'yes'}":                                        `overrides.containerd.enable_cdi: "yes" is not true or false`,
		"containerd: {images: {max_concurrent_download: 3}}":                     `cluster.overrides.containerd.images.max_concurrent_download: there is no such setting`,
		"containerd: {root: {oom_scor: 1}}":                                      `cluster.overrides.containerd.root.oom_scor: there is no such setting; did you mean "oom_score"?`,
		"containerd: {root: {grpc: {gid: staff}}}":                               `overrides.containerd.root.grpc.gid: "staff" is not a whole number`,
		"containerd: {runc: {SystemdCgrp: true}}":                                `cluster.overrides.containerd.runc.SystemdCgrp: there is no such setting; did you mean "SystemdCgroup"?`,
		"containerd: {containerd: {runtimes: {gvisor: {type: x}}}}":              `overrides.containerd.containerd.runtimes.gvisor.type: there is no such setting`,
	} {
		got := Check(resolve(t, overrides, ""))
		if len(got) != 1 {
			t.Errorf("%s: %d invalid values: %v", overrides, len(got), got)
			continue
		}
		if text := got[0].Key() + ": " + got[0].Message; !strings.Contains(text, want) {
			t.Errorf("%s:\n got %s\nwant %s", overrides, text, want)
		}
	}
}

func TestWhatAComponentTakes(t *testing.T) {
	for _, overrides := range []string{
		"",
		"kubelet: {evictionHard: {memory.available: 100Mi, nodefs.available: 5%, imagefs.inodesFree: 0%, pid.available: '1000'}}",
		"kubelet: {evictionSoft: {memory.available: 5%}, evictionSoftGracePeriod: {memory.available: 1m30s}, evictionMinimumReclaim: {memory.available: 0Mi}}",
		"kubelet: {systemReserved: {cpu: 500m, memory: 1Gi, pid: '1000'}, kubeReserved: {ephemeral-storage: 1Gi}}",
		"kubelet: {imageGCHighThresholdPercent: 70, imageGCLowThresholdPercent: 60, featureGates: {NodeSwap: true}, maxPods: 250}",
		"kubelet: {serializeImagePulls: false, maxParallelImagePulls: 4, podCIDR: 10.0.0.0/24}",
		"kubelet: {reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}], logging: {verbosity: 4, flushFrequency: 5s}, memorySwap: {swapBehavior: LimitedSwap}}",
		"kubelet: {cgroupDriver: cgroupfs, extra_args: {v: 2}}",
		"kube_proxy: {conntrack: {maxPerCore: 0}, iptables: {syncPeriod: 30s}, nodePortAddresses: [primary], healthzBindAddress: '[::1]:10256'}",
		"kube_proxy: {metricsBindAddress: null}",
		"apiserver: {extra_args: {feature-gates: 'NodeSwap=T, AllBeta = 0,'}}",
		"etcd: {extra_args: {wal-dir: /var/lib/etcd-wal}}",
		"kubelet: {featureGates: {AllAlpha: false, KubeletInUserNamespace: false}, extra_args: {feature-gates: 'kube:NodeSwap=true'}}",
		"containerd: {max_container_log_line_size: 16384, cdi_spec_dirs: [/etc/cdi], cni: {max_conf_num: 1}, runc: {NoPivotRoot: true}}",
		"containerd: {images: {registry: {headers: {X-Meta: [a]}}}, root: {timeouts: {a: 1s}, plugins: {io.containerd.gc.v1.scheduler: {pause_threshold: 0.02}}}}",
		"containerd: {containerd: {runtimes: {gvisor: {runtime_type: io.containerd.runsc.v1, options: {TypeUrl: x}}}}}",
		"containerd: {version: v2.9.0, a_setting_of_that_version: true}",
	} {
		if got := Check(resolve(t, overrides, "")); len(got) > 0 {
			t.Errorf("%s: %v", overrides, got)
		}
	}
}

func TestAuditPolicy(t *testing.T) {
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for policy, want := range map[string]string{
		head + "rules: [{level: Metadata}]":                                               "",
		head + "rules: [{level: All}]":                                                    `cluster.api.audit.policy.rules.[0].level: "All" is unknown`,
		head + "rules: [{level: None, verbz: [get]}]":                                     `rules.[0].verbz: there is no such setting; did you mean "verbs"?`,
		head + "rules: []":                                                                "at least one rule",
		head + "rules: [{level: None}]\nomitStages: [Received]":                           `"Received" is unknown`,
		"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]":          "write audit.k8s.io/v1 and Policy",
		head + "rules: [{level: None, nonResourceURLs: [healthz]}]":                       `"healthz" does not begin with a slash`,
		head + "rules: [{level: None, resources: [{group: apps/v1, resources: [pods]}]}]": `"apps/v1" has a version`,
	} {
		got := Check(resolve(t, "", policy))
		switch {
		case want == "" && len(got) > 0, want != "" && len(got) != 1:
			t.Errorf("%s: %v", policy, got)
		case want != "" && !strings.Contains(got[0].Key()+": "+got[0].Message, want):
			t.Errorf("%s:\n got %s: %s\nwant %s", policy, got[0].Key(), got[0].Message, want)
		}
	}
	if got := Check(resolve(t, "", "{}")); len(got) > 0 {
		t.Errorf("deployer's own policy: %v", got)
	}
}
