package etcd

import (
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestErrorsAreReadable(t *testing.T) {
	for _, c := range []struct {
		err       error
		want      string
		transient bool
	}{
		{status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 10.0.0.1:2379: connect: connection refused"`), "dial tcp 10.0.0.1:2379: connect: connection refused", true},
		{status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: bad certificate"`), "tls: bad certificate", true},
		{status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: ssh: rejected (\"refused\")"`), `ssh: rejected ("refused")`, true},
		{rpctypes.ErrGRPCLeaderChanged, "etcdserver: leader changed", true},
		{rpctypes.ErrGRPCUnhealthy, "etcdserver: unhealthy cluster", true},
		{rpctypes.ErrGRPCPeerURLExist, "etcdserver: Peer URLs already exists", false},
		{errors.New("x"), "x", false},
	} {
		got := plain(c.err)
		if got.Error() != c.want || transient(got) != c.transient {
			t.Errorf("%v: got %q, transient %v", c.err, got, transient(got))
		}
	}
	if plain(nil) != nil {
		t.Error("no error became one")
	}
	if !catchingUp(plain(rpctypes.ErrGRPCLearnerNotReady)) {
		t.Error("a learner that lags is not recognized")
	}
}
