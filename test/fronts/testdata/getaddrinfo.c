/* Prints what getaddrinfo finds for each name, one line a name: its addresses in
   order, or what the C library says in their place. That there is no such name, and
   that it has no addresses, is the same to callers. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char *word(int code) {
	switch (code) {
	case EAI_AGAIN: return "EAI_AGAIN";
	case EAI_FAIL: return "EAI_FAIL";
#ifdef EAI_NODATA
	case EAI_NODATA:
#endif
	case EAI_NONAME: return "EAI_NONAME";
	}
	return gai_strerror(code);
}

int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		struct addrinfo hints, *list, *at;
		memset(&hints, 0, sizeof hints);
		hints.ai_socktype = SOCK_STREAM;
		int code = getaddrinfo(argv[i], NULL, &hints, &list);
		if (code != 0) {
			printf("%s\n", word(code));
			continue;
		}
		for (at = list; at != NULL; at = at->ai_next) {
			char text[INET6_ADDRSTRLEN];
			const void *address = at->ai_family == AF_INET6
				? (const void *)&((struct sockaddr_in6 *)at->ai_addr)->sin6_addr
				: (const void *)&((struct sockaddr_in *)at->ai_addr)->sin_addr;
			printf("%s%s", at == list ? "" : " ", inet_ntop(at->ai_family, address, text, sizeof text));
		}
		printf("\n");
		freeaddrinfo(list);
	}
	return 0;
}
