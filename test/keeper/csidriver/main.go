// Command csidriver is a driver for volumes of the tests: each volume is a directory of the host. A kubelet takes it for any
// other CSI driver, so the attachment of its volumes is decided by the controller manager.
//
//	csidriver NODE
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const (
	name      = "volumes.deployer.test"
	socket    = "/var/lib/kubelet/plugins/" + name + "/csi.sock"
	registrar = "/var/lib/kubelet/plugins_registry/" + name + "-reg.sock"
	volumes   = "/var/lib/volumes.deployer.test"
)

// driver is the driver on a node.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer
	node string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: csidriver NODE")
		os.Exit(2)
	}
	if err := run(&driver{node: os.Args[1]}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves both sockets until one of them fails.
func run(d *driver) error {
	failed := make(chan error, 2)
	for path, register := range map[string]func(*grpc.Server){
		socket: func(s *grpc.Server) {
			csi.RegisterIdentityServer(s, d)
			csi.RegisterNodeServer(s, d)
		},
		registrar: func(s *grpc.Server) { registration.RegisterRegistrationServer(s, d) },
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		_ = os.Remove(path)
		listener, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		server := grpc.NewServer()
		register(server)
		go func() { failed <- server.Serve(listener) }()
	}
	return <-failed
}

// GetInfo implements the registration with the kubelet.
func (d *driver) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: name, Endpoint: socket, SupportedVersions: []string{"1.0.0"}}, nil
}

// NotifyRegistrationStatus implements the registration with the kubelet.
func (d *driver) NotifyRegistrationStatus(_ context.Context, r *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	fmt.Println("registered:", r.PluginRegistered, r.Error)
	return &registration.RegistrationStatusResponse{}, nil
}

// GetPluginInfo implements csi.IdentityServer.
func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: name, VendorVersion: "1"}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (d *driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe implements csi.IdentityServer.
func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// NodeGetInfo implements csi.NodeServer.
func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

// NodeGetCapabilities implements csi.NodeServer.
func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume implements csi.NodeServer: it mounts the directory of the volume.
func (d *driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	from, to := filepath.Join(volumes, filepath.Base(r.GetVolumeId())), r.GetTargetPath()
	if mounted(to) {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	for _, dir := range []string{from, to} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return nil, status.Errorf(codes.Internal, "mounting %s at %s: %v", from, to, err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume implements csi.NodeServer.
func (d *driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if to := r.GetTargetPath(); mounted(to) {
		if err := unix.Unmount(to, 0); err != nil {
			return nil, status.Errorf(codes.Internal, "unmounting %s: %v", to, err)
		}
	}
	_ = os.Remove(r.GetTargetPath())
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// mounted reports whether a directory is a mount point: a bind mount on one file system shows only in its mount ID.
func mounted(dir string) bool {
	var at, above unix.Statx_t
	const mask = unix.STATX_MNT_ID
	if unix.Statx(unix.AT_FDCWD, dir, 0, mask, &at) != nil || unix.Statx(unix.AT_FDCWD, filepath.Dir(dir), 0, mask, &above) != nil {
		return false
	}
	return at.Mnt_id != above.Mnt_id
}
