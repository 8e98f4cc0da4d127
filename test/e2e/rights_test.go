package e2e_test

import (
	"strings"
	"testing"
)

func TestAForbiddenKindTurnsOffItsSourceAlone(t *testing.T) {
	c := clean(t)
	applyThree(t, c)
	rights := reader()[1:] // all but Ingresses
	name, kubeconfig := user(t, c, rights...)
	p := serve(t, program(t), kubeconfig)
	page := p.awaitPage(t, "/readyz", 200, "source ingress: not synced, 0 objects\n", "  Ingress can't be read since 20",
		"allow list and watch", "ingresses.networking.k8s.io is forbidden", "source service: synced, 3 objects\n")
	if !strings.HasPrefix(page, "ready\n") {
		t.Errorf("/readyz does not start with ready:\n%s", page)
	}
	p.expect(t, lbName, "A", address(lbName, "A", "192.0.2.2"))
	p.expect(t, dbName, "A", address(dbName, "A", "192.0.2.3"))
	p.expect(t, webName, "A", missing)
	p.awaitPage(t, "/metrics", 200, `clusterzone_source_synced{source="ingress"} 0`+"\n", `clusterzone_source_synced{source="service"} 1`+"\n",
		`clusterzone_kind_unreadable{kind="Ingress",source="ingress"} 1`+"\n")

	// The right is given: no restart is needed.
	c.Grant(t, name, reader()...)
	awaitThree(t, p)
	page = p.awaitPage(t, "/readyz", 200, "source ingress: synced, 1 objects\n")
	if strings.Contains(page, "can't be read") {
		t.Errorf("/readyz still names a problem:\n%s", page)
	}

	// It is taken away again, as far as Kubernetes does so: open watches go on
	// until the API server ends. Answers stay, whatever is forbidden then.
	c.Revoke(t, name)
	c.StopAPIServer(t)
	c.StartAPIServer(t)
	p.awaitPage(t, "/readyz", 200, "ready\n", "ingresses.networking.k8s.io is forbidden", "services is forbidden", "pods is forbidden")
	expectThree(t, p)
}

func TestServicesThatNeedNoPodsAreServedWithoutThem(t *testing.T) {
	c := clean(t)
	applyThree(t, c)
	apply(t, c, `
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: game, annotations: {external-dns.kubernetes.io/hostname: game.corp.test}}
spec: {type: NodePort, externalTrafficPolicy: Local, selector: {app: game}, ports: [{port: 80}]}
`, `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {addresses: [{type: ExternalIP, address: 192.0.2.81}]}
`, `
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: open, annotations: {external-dns.kubernetes.io/hostname: open.corp.test}}
spec: {type: NodePort, ports: [{port: 80}]}
`)
	rights := append(reads("networking.k8s.io", "ingresses"), reads("discovery.k8s.io", "endpointslices")...)
	rights = append(rights, reads("", "services", "nodes")...)
	name, kubeconfig := user(t, c, rights...)
	p := serve(t, program(t), kubeconfig)
	p.awaitPage(t, "/readyz", 200, "ready\n", "source service: synced, 5 objects\n", "  Pod can't be read since 20", "pods is forbidden")
	expectThree(t, p)
	p.expect(t, "open.corp.test", "A", address("open.corp.test", "A", "192.0.2.81"))
	reply, err := p.ask("udp", "game.corp.test", "A")
	if err != nil || !strings.HasPrefix(reply, "NOERROR aa\nauthority: corp.test. 5 SOA\nEDE 0: service shop/game: Pods can't be read: ") {
		t.Errorf("game.corp.test, which needs Pods: %v\n%s", err, reply)
	}

	c.Grant(t, name, append(rights, reads("", "pods")...)...)
	p.await(t, "game.corp.test", "A", "NOERROR aa\nauthority: corp.test. 5 SOA\n"+
		"EDE 0: service shop/game: externalTrafficPolicy is Local, and no Node runs a Pod of the Service")
}
