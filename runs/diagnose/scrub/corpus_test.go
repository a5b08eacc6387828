package scrub

import (
	"strings"
	"testing"
)

// secretLines are lines as hosts print them. The secret is between ‹ and ›, which are not in
// the text.
const secretLines = `
mysql --user=root -p‹Blue7Heron› shop
/usr/bin/mysqldump -u root -p‹Blue7Heron› --all-databases
mysqladmin -uroot -p ‹Blue7Heron› shutdown
COMMAND=/usr/bin/sshpass -p ‹Blue7Heron› ssh root@10.0.0.9
docker login -u ops -p ‹Blue7Heron› registry.example
podman login --username ops --password ‹Blue7Heron› registry.example
helm registry login -u ops -p=‹Blue7Heron› registry.example
curl -u admin:‹Blue7Heron› https://intranet/
curl -sS --user 'admin:‹Blue7Heron›' https://intranet/
curl --proxy-user ops:‹Blue7Heron› -x proxy:3128 https://intranet/
smbclient -U guest%‹Blue7Heron› //nas/share
ipmitool -I lanplus -H 10.1.1.1 -U root -P ‹Blue7Heron› power status
ldapsearch -x -D cn=admin,dc=example -w ‹Blue7Heron› -b dc=example
redis-cli -h cache -a ‹Blue7Heron› ping
1700000000.1 [0 10.0.0.5:5123] "AUTH" and AUTH ‹Blue7Heron›
snmpwalk -v3 -u ops -A ‹Blue7Heron› 10.0.0.1
echo 'app:‹Blue7Heron›' | chpasswd
htpasswd -bc /etc/nginx/users app ‹Blue7Heron›
openssl rsa -in key.pem -passin pass:‹Blue7Heron›
machine repo.example login ops password ‹Blue7Heron›
CREATE USER app IDENTIFIED BY '‹Blue7Heron›'
ALTER USER app IDENTIFIED WITH caching_sha2_password BY '‹Blue7Heron›'
DSN app:‹Blue7Heron›@tcp(10.0.0.1:3306)/shop
dsn="app:‹Blue/7@Heron›@tcp(10.0.0.1:3306)/shop"
connecting with app:‹Blue7Heron›@unix(/run/mysqld.sock)/shop
amqp app:‹Blue7Heron›@queue.example:5672
postgres://app:‹Blue7Heron›@db/shop
postgres://app:‹Blue/7Heron›@db/shop
mongodb+srv://app:‹Bl@e7Heron›@db.example/shop
fatal: unable to access 'https://‹0123456789abcdef0123456789abcdef01234567›@git.example/a.git/'
host=db user=app pwd=‹Blue7Heron›
MYSQL_PWD=‹Blue7Heron› mysqldump
Server=sql;Database=a;User Id=sa;Pwd=‹Blue7Heron›
PGPASSWORD=‹Blue7Heron› psql
mount -t cifs -o username=ops,pass=‹Blue7Heron› //nas/x /mnt
ssid=lab psk=‹0123456789abcdef0123456789abcdef›
	psk="‹Blue7Heron›"
bind dn=cn=admin db-pass: ‹Blue7Heron›
kubeadm join 10.0.0.1:6443 --certificate-key ‹8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab9159f51fd0297e236d›
kubeadm join --token ‹abcdef.0123456789abcdef› 10.0.0.1:6443
etcd encryption key ‹8f14e45fceea167a5a36dedd4bea2543›
"aesKey": "‹8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab91›"
interface wg0 private key: ‹yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=›
GET /b/x?sv=2022-11-02&sig=‹abc%2FDEF123456789012%3D›&se=2030 200
GET https://store/b/x?X-Amz-Credential=‹AKIAXQ7EXAMPLE012345%2F2026›&X-Amz-Signature=‹fe5f80f77d5fa3be› 200
AWS4-HMAC-SHA256 Credential=‹AKIAXQ7EXAMPLE012345/2026›, Signature=‹fe5f80f77d5fa3beca038a248ff027d0445342fe›
DefaultEndpointsProtocol=https;AccountName=a;AccountKey=‹abcDEF0123456789==›
got ‹AKIAXQ7EXAMPLE012345› from the metadata service
vault token ‹hvs.CAESIJ83jf83jf83jf83jf8› renewed
vault wrote ‹s.k3jf83jf83jf83jf83jf83jf›
push with ‹ghp_0123456789abcdefABCDEF› and ‹glrt-0123456789abcdefABCD› failed
registry answers ‹dckr_pat_0123456789abcdef›
{"auths":{"registry.example":{"auth":"‹YTpi›"}}}
{\"auths\":{\"registry.example\":{\"auth\":\"‹YTpibGFo›\"}}}
Authorization: Digest username="ops", ‹response=0123›
Cookie: ‹session=0123456789›
`

// plainLines stay as they are: without them an archive explains nothing.
const plainLines = `
Nov 23 10:00:00 m1 kubelet[1]: Pulling image "registry.example:5000/pause:3.10@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
pulled docker://registry.example:5000/a/pause@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
nginx:1.25@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
dial tcp 10.0.0.1:6443: connect: connection refused
mkdir -p /var/lib/etcd
ps -p 1234 -o comm=
iptables -A INPUT -p tcp --dport 443 -j ACCEPT
nmap -p 6443 10.0.0.1
podman run -p 8080:80 nginx
systemctl status user@1000.service getty@tty1.service
Started user@0.service - User Manager for UID 0.
ssh://git@git.example/a.git
GET https://10.0.0.1:6443/readyz?verbose 200
sudo -u postgres psql
chown -R 1000:1000 /srv
useradd -u 1001 ops
tests passed: 12, skipped: 1
bypass: true
etcdserver: request timed out, possibly due to previous leader failure
digest 8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab9159f51fd0297e236d
machine-id 8f14e45fceea167a5a36dedd4bea2543
error: no key "monkey" in map
`

// TestSecretLines: no part of a secret stays, and the words around it do.
func TestSecretLines(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(strings.TrimPrefix(secretLines, "\n")) {
		plain := strings.NewReplacer("‹", "", "›", "").Replace(line)
		got := Text(plain)
		rest := line
		for {
			_, after, found := strings.Cut(rest, "‹")
			if !found {
				break
			}
			var secret string
			secret, rest, _ = strings.Cut(after, "›")
			for _, part := range append(strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune("/@=", r) }), secret) {
				if len(part) >= 4 && strings.Contains(got, part) {
					t.Errorf("%q of the secret stays in %q", part, got)
				}
			}
		}
		if first := strings.Fields(plain)[0]; !strings.Contains(first, "=") && !strings.Contains(line[:min(len(line), len(first)+3)], "‹") &&
			!strings.HasPrefix(first, "{") && !strings.Contains(first, "://") && !strings.Contains(got, first) {
			t.Errorf("the word %q before the secret is gone from %q", first, got)
		}
	}
}

// TestPlainLines: what explains a fault stays.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(strings.TrimPrefix(plainLines, "\n")) {
		if got := Text(line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}
