package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Identity is a host in one run: what its controller sends it. All of it is only in memory.
type Identity struct {
	// Address is the IP address and port of the host's server.
	Address string `json:"address"`
	// Authority is the certificate of the run's authority, Certificate the host's, and Key its
	// PKCS #8 private key, all in DER.
	Authority   []byte `json:"authority"`
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
	// TicketKey is the secret with which the controller signs tickets for this host's server.
	TicketKey []byte `json:"ticketKey"`
	// Now is the time of the controller: the clock of a new host may be wrong by years.
	Now time.Time `json:"now"`
	// BytesPerSecond bounds what the host sends to peers.
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// ServerName returns the name in the certificate of a host. It is made of the host's name, which need
// not be one of DNS.
func ServerName(host string) string {
	sum := sha256.Sum256([]byte(host))
	return hex.EncodeToString(sum[:16]) + ".peer"
}

// Ticket returns the proof that a client may fetch a blob from the host with the key.
func Ticket(ticketKey []byte, client, digest string) string {
	mac := hmac.New(sha256.New, ticketKey)
	mac.Write([]byte(ServerName(client) + "\n" + digest))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// validTicket reports whether a ticket is for a client, by the name in its certificate, and a blob.
func (i Identity) validTicket(ticket, serverName, digest string) bool {
	given, err := base64.RawURLEncoding.DecodeString(ticket)
	mac := hmac.New(sha256.New, i.TicketKey)
	mac.Write([]byte(serverName + "\n" + digest))
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

// tlsConfig returns the configuration of both ends. A client adds the name of its server.
func (i Identity) tlsConfig() (*tls.Config, error) {
	authority, err := x509.ParseCertificate(i.Authority)
	if err != nil {
		return nil, fmt.Errorf("authority of the run: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(i.Key)
	if err != nil {
		return nil, errors.New("private key for peers: not in PKCS #8")
	}
	pool := x509.NewCertPool()
	pool.AddCert(authority)
	offset := time.Until(i.Now)
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{i.Certificate}, PrivateKey: key}},
		RootCAs:                pool,
		ClientCAs:              pool,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		SessionTicketsDisabled: true,
		Time:                   func() time.Time { return time.Now().Add(offset) },
	}, nil
}
