package cri

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"deployer/tasks/tasktest"
)

// runtime is a fake container runtime that speaks CRI with the generated types.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	mu        sync.Mutex
	pods      []*runtimeapi.PodSandbox
	ran       []*runtimeapi.PodSandboxConfig
	image     string
	noNetwork string // reason why the network is not ready
	broken    error  // error of RunPodSandbox
	cgroupfs  bool
	stopped   []string // containers
}

func (r *runtime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	network := &runtimeapi.RuntimeCondition{Type: "NetworkReady", Status: r.noNetwork == "", Reason: "NetworkPluginNotReady", Message: r.noNetwork}
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{{Type: "RuntimeReady", Status: true}, network}}}, nil
}

func (r *runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	driver := runtimeapi.CgroupDriver_SYSTEMD
	if r.cgroupfs {
		driver = runtimeapi.CgroupDriver_CGROUPFS
	}
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: driver}}, nil
}

func (r *runtime) ImageStatus(_ context.Context, in *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	if in.Image.Image == r.image {
		return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:1"}}, nil
	}
	return &runtimeapi.ImageStatusResponse{}, nil
}

func (r *runtime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.ListPodSandboxResponse{Items: r.pods}, nil
}

func (r *runtime) RunPodSandbox(_ context.Context, in *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return nil, r.broken
	}
	for _, p := range r.pods {
		if p.Metadata.Name == in.Config.Metadata.Name {
			return nil, fmt.Errorf("the name %s is reserved", p.Metadata.Name)
		}
	}
	r.ran = append(r.ran, in.Config)
	r.pods = append(r.pods, &runtimeapi.PodSandbox{Id: "new", Metadata: in.Config.Metadata, CreatedAt: time.Now().UnixNano()})
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: "new"}, nil
}

func (r *runtime) StopPodSandbox(_ context.Context, in *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		if p.Id == in.PodSandboxId {
			p.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		}
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (r *runtime) ListContainers(_ context.Context, in *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	if in.Filter.GetState().GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, status.Error(codes.InvalidArgument, "a list of all containers")
	}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: "in-" + in.Filter.PodSandboxId, PodSandboxId: in.Filter.PodSandboxId}}}, nil
}

func (r *runtime) StopContainer(_ context.Context, in *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = append(r.stopped, fmt.Sprintf("%s after %d s", in.ContainerId, in.Timeout))
	return &runtimeapi.StopContainerResponse{}, nil
}

func (r *runtime) RemovePodSandbox(_ context.Context, in *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []*runtimeapi.PodSandbox
	for _, p := range r.pods {
		if p.Id != in.PodSandboxId {
			left = append(left, p)
		}
	}
	r.pods = left
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// host returns a host on which the unit containerd runs, with r at its socket.
func host(t *testing.T, r *runtime) (*tasktest.System, *tasktest.Systemd) {
	t.Helper()
	sys := tasktest.New(t)
	units := tasktest.NewSystemd(map[string]*tasktest.FakeUnit{"containerd.service": {Active: "active", Type: "notify"}})
	sys.Exec = units.Exec
	if r != nil {
		dir, err := os.MkdirTemp("", "cri") // the path of a socket has 107 bytes at most
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		runtimeapi.RegisterRuntimeServiceServer(server, r)
		runtimeapi.RegisterImageServiceServer(server, r)
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		if err := os.MkdirAll(sys.Path("/run/containerd"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(listener.Addr().String(), sys.Path("/run/containerd/containerd.sock")); err != nil {
			t.Fatal(err)
		}
	}
	return sys, units
}

const pause = "registry.k8s.io/pause:3.10"

func TestReadyRunsOneContainer(t *testing.T) {
	r := &runtime{image: pause, pods: []*runtimeapi.PodSandbox{
		{Id: "older", Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"}, CreatedAt: 1},
		{Id: "left", Metadata: &runtimeapi.PodSandboxMetadata{Name: probeName}, CreatedAt: time.Now().Add(time.Hour).UnixNano()},
	}}
	sys, units := host(t, r)
	gate := &Ready{Image: pause, Timeout: 5 * time.Second}
	change := tasktest.Check(t, sys, gate)
	if !change.Needed || !change.Wait {
		t.Fatalf("a runtime that was never asked counts as proved: %+v", change)
	}
	out, err := gate.Apply(t.Context(), sys, change)
	if err != nil || out["ran"] != true {
		t.Fatalf("%v, %v", out, err)
	}
	if len(r.ran) != 1 || r.ran[0].Linux.CgroupParent != "system.slice" || r.ran[0].Linux.SecurityContext.NamespaceOptions.Network != runtimeapi.NamespaceMode_NODE {
		t.Errorf("ran %v", r.ran)
	}
	if len(r.pods) != 1 || r.pods[0].Id != "older" {
		t.Errorf("left behind: %v", r.pods)
	}
	if change := tasktest.Check(t, sys, gate); change.Needed {
		t.Error("a runtime that is proved is asked again")
	}
	units.Crash("containerd.service")
	if change := tasktest.Check(t, sys, gate); !change.Needed {
		t.Error("another process counts as proved")
	}
}

func TestReadyAcceptsAPodCreatedSince(t *testing.T) {
	r := &runtime{pods: []*runtimeapi.PodSandbox{{Id: "young", Metadata: &runtimeapi.PodSandboxMetadata{Name: "web"}}}}
	sys, _ := host(t, r)
	r.pods[0].CreatedAt = time.Now().Add(time.Second).UnixNano()
	if change := tasktest.Check(t, sys, &Ready{Image: pause}); change.Needed {
		t.Error("the runtime is to be asked again")
	}
	r.pods[0].State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	if change := tasktest.Check(t, sys, &Ready{Image: pause}); !change.Needed {
		t.Error("a pod that ended is a proof")
	}
}

func TestReadyErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		runtime *runtime
		network bool // the host has a network configuration
		want    string
	}{
		"runs":                      {&runtime{image: pause}, true, ""},
		"no image":                  {&runtime{}, true, ""},
		"no network yet":            {&runtime{image: pause, noNetwork: "cni plugin not initialized"}, false, ""},
		"network not ready":         {&runtime{noNetwork: "cni plugin not initialized"}, true, "NetworkReady is not true: NetworkPluginNotReady cni plugin not initialized"},
		"cannot run":                {&runtime{image: pause, broken: status.Error(codes.Unknown, "failed to start: exec: \"/nö/runc\": no such file")}, true, `it cannot run a container: runtime.v1.RuntimeService/RunPodSandbox: failed to start: exec: "/nö/runc": no such file (gRPC status 2)`},
		"nobody behind the socket":  {nil, true, "connect: "},
		"groups without systemd":    {&runtime{image: pause, cgroupfs: true}, true, ""},
		"many pods with long names": {&runtime{image: pause, pods: many()}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys, _ := host(t, tt.runtime)
			if tt.network {
				sys.Write(t, "/etc/cni/net.d/10-x.conflist", "{}", 0o644)
			}
			gate := &Ready{Image: pause, Timeout: 300 * time.Millisecond}
			if tt.want == "" {
				gate.Timeout = 10 * time.Second
			}
			change := tasktest.Check(t, sys, gate)
			_, err := gate.Apply(t.Context(), sys, change)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if tt.runtime != nil && tt.runtime.cgroupfs && tt.runtime.ran[0].Linux.CgroupParent != "" {
				t.Errorf("the parent of its group is %q", tt.runtime.ran[0].Linux.CgroupParent)
			}
		})
	}
}

// many returns a list of pods that is larger than a frame and than the initial
// window.
func many() (pods []*runtimeapi.PodSandbox) {
	for i := range 2000 {
		pods = append(pods, &runtimeapi.PodSandbox{Id: fmt.Sprint(i), Metadata: &runtimeapi.PodSandboxMetadata{Name: strings.Repeat("x", 1000)}})
	}
	return pods
}

func TestCallEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // accepts by its backlog, and never answers
	cause := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	if _, err := call(ctx, listener.Addr().String(), "x/y", nil); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestMissingUnitIsNotWaitedFor(t *testing.T) {
	sys := tasktest.New(t)
	sys.Exec = tasktest.NewSystemd(nil).Exec
	if change := tasktest.Check(t, sys, &Ready{Image: pause}); change.Needed {
		t.Error("it is waited for")
	}
}
