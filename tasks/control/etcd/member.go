package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// maxAnswer is the maximum size of an answer of a member, in bytes; etcd's client sets no
// bound. Lists of members and their states have a few kilobytes.
const maxAnswer = 4 << 20

// Status is the status that a member reports of itself.
type Status struct {
	ClusterID, MemberID uint64
	Leader              uint64 // member ID; 0 without a leader
	Learner             bool
	Version             string
	DBSize, DBInUse     int64 // bytes
	Quota               int64 // bytes of the file from which on etcd refuses writes; 0 before etcd 3.6
	Revision            int64 // of the database
	Errors              []string
}

// Entry is a row of the member list.
type Entry struct {
	ID         uint64
	Name       string
	PeerURLs   []string
	ClientURLs []string
	Learner    bool
}

// Member is a connection to one member. Every call needs a context with a deadline,
// because etcd's client retries until it ends.
type Member interface {
	Status(ctx context.Context) (Status, error)
	// Read makes a linearizable read, which succeeds only when a majority agrees.
	Read(ctx context.Context) error
	// Members lists the members, linearizably.
	Members(ctx context.Context) ([]Entry, error)
	AddLearner(ctx context.Context, peerURL string) error
	Promote(ctx context.Context, id uint64) error
	Remove(ctx context.Context, id uint64) error
	// Readdress replaces the peer URLs of a member by one.
	Readdress(ctx context.Context, id uint64, peerURL string) error
	// Defragment rewrites the database file of the member, which does not answer others
	// meanwhile.
	Defragment(ctx context.Context) error
	// Compact removes the history before a revision on all members, and ends when the member
	// has done it. History that is gone already is no error.
	Compact(ctx context.Context, revision int64) error
	// DisarmNoSpace ends the NOSPACE alarms of all members.
	DisarmNoSpace(ctx context.Context) error
	// Alarms lists active alarms, as in "NOSPACE on member 8e9e05c52164694d".
	Alarms(ctx context.Context) ([]string, error)
	// Range reads at most limit keys with their values, linearizably, in the order of the
	// keys and from a key on.
	Range(ctx context.Context, from string, limit int64) ([]Pair, error)
	Records
	Accounts
	Close() error
}

// Opener connects to the member at an address through a host.
type Opener func(via, address string) (Member, error)

// Dialer opens a connection from a host; the address is resolved there.
type Dialer func(ctx context.Context, host, network, address string) (net.Conn, error)

// Open returns the opener for real members. identity is the client certificate, roots
// the authority of the members' certificates.
func Open(dial Dialer, config *tls.Config) Opener {
	return func(via, address string) (Member, error) {
		ip, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("address of an etcd member: %w", err)
		}
		tlsConfig := config.Clone()
		tlsConfig.ServerName = ip
		client, err := clientv3.New(clientv3.Config{
			Endpoints:            []string{"https://" + address},
			TLS:                  tlsConfig,
			Logger:               zap.NewNop(), // only views print
			MaxUnaryRetries:      1,            // this package retries itself
			MaxCallRecvMsgSize:   maxAnswer,
			DialKeepAliveTime:    10 * time.Second,
			DialKeepAliveTimeout: 5 * time.Second,
			DialOptions: []grpc.DialOption{
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
					return dial(ctx, via, "tcp", address)
				}),
			},
		})
		if err != nil {
			return nil, fmt.Errorf("connecting to the etcd member at %s: %w", address, err)
		}
		return &remote{client}, nil
	}
}

type remote struct{ client *clientv3.Client }

func (r *remote) Close() error { return r.client.Close() }

// Status uses the existing connection; the client's own Status would open another one
// for each call.
func (r *remote) Status(ctx context.Context) (Status, error) {
	resp, err := pb.NewMaintenanceClient(r.client.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return Status{}, plain(err)
	}
	return Status{
		ClusterID: resp.Header.ClusterId, MemberID: resp.Header.MemberId,
		Leader: resp.Leader, Learner: resp.IsLearner, Version: resp.Version,
		DBSize: resp.DbSize, DBInUse: resp.DbSizeInUse, Quota: resp.DbSizeQuota, Revision: resp.Header.Revision, Errors: resp.Errors,
	}, nil
}

func (r *remote) Read(ctx context.Context) error {
	_, err := r.client.Get(ctx, "deployer/health", clientv3.WithKeysOnly())
	return plain(err)
}

func (r *remote) Members(ctx context.Context) ([]Entry, error) {
	resp, err := r.client.MemberList(ctx)
	if err != nil {
		return nil, plain(err)
	}
	var out []Entry
	for _, m := range resp.Members {
		out = append(out, Entry{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner})
	}
	return out, nil
}

func (r *remote) AddLearner(ctx context.Context, peerURL string) error {
	_, err := r.client.MemberAddAsLearner(ctx, []string{peerURL})
	return plain(err)
}

func (r *remote) Promote(ctx context.Context, id uint64) error {
	_, err := r.client.MemberPromote(ctx, id)
	return plain(err)
}

func (r *remote) Remove(ctx context.Context, id uint64) error {
	_, err := r.client.MemberRemove(ctx, id)
	return plain(err)
}

func (r *remote) Readdress(ctx context.Context, id uint64, peerURL string) error {
	_, err := r.client.MemberUpdate(ctx, id, []string{peerURL})
	return plain(err)
}

func (r *remote) Defragment(ctx context.Context) error {
	_, err := pb.NewMaintenanceClient(r.client.ActiveConnection()).Defragment(ctx, &pb.DefragmentRequest{})
	return plain(err)
}

func (r *remote) Compact(ctx context.Context, revision int64) error {
	_, err := r.client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	if err = plain(err); errors.Is(err, rpctypes.ErrCompacted) {
		return nil
	}
	return err
}

func (r *remote) DisarmNoSpace(ctx context.Context) error {
	resp, err := r.client.AlarmList(ctx)
	if err != nil {
		return plain(err)
	}
	for _, a := range resp.Alarms {
		if a.Alarm == pb.AlarmType_NOSPACE {
			if _, err := r.client.AlarmDisarm(ctx, (*clientv3.AlarmMember)(a)); err != nil {
				return plain(err)
			}
		}
	}
	return nil
}

func (r *remote) Alarms(ctx context.Context) ([]string, error) {
	resp, err := r.client.AlarmList(ctx)
	if err != nil {
		return nil, plain(err)
	}
	var out []string
	for _, a := range resp.Alarms {
		out = append(out, fmt.Sprintf("%s on member %x", a.Alarm, a.MemberID))
	}
	return out, nil
}
