package mysql

import (
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
)

// prisma is the result of `prisma db push` with the documented NextAuth.js schema for
// MySQL, in a database with Prisma's collation.
const prisma = "CREATE TABLE `Account` (`id` VARCHAR(191) NOT NULL, `userId` VARCHAR(191) NOT NULL, `type` VARCHAR(191) NOT NULL, `provider` VARCHAR(191) NOT NULL, " +
	"`providerAccountId` VARCHAR(191) NOT NULL, `refresh_token` TEXT NULL, `access_token` TEXT NULL, `expires_at` INTEGER NULL, `token_type` VARCHAR(191) NULL, " +
	"`scope` VARCHAR(191) NULL, `id_token` TEXT NULL, `session_state` VARCHAR(191) NULL, INDEX `Account_userId_fkey`(`userId`), " +
	"UNIQUE INDEX `Account_provider_providerAccountId_key`(`provider`, `providerAccountId`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `Session` (`id` VARCHAR(191) NOT NULL, `sessionToken` VARCHAR(191) NOT NULL, `userId` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL, " +
	"UNIQUE INDEX `Session_sessionToken_key`(`sessionToken`), INDEX `Session_userId_fkey`(`userId`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `User` (`id` VARCHAR(191) NOT NULL, `name` VARCHAR(191) NULL, `email` VARCHAR(191) NULL, `emailVerified` DATETIME(3) NULL, `image` VARCHAR(191) NULL, " +
	"`role` VARCHAR(191) NOT NULL DEFAULT 'user', UNIQUE INDEX `User_email_key`(`email`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `VerificationToken` (`identifier` VARCHAR(191) NOT NULL, `token` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL, " +
	"UNIQUE INDEX `VerificationToken_token_key`(`token`), UNIQUE INDEX `VerificationToken_identifier_token_key`(`identifier`, `token`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"ALTER TABLE `Account` ADD CONSTRAINT `Account_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;\n" +
	"ALTER TABLE `Session` ADD CONSTRAINT `Session_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;\n"

// kysely is the schema of @auth/kysely-adapter with MySQL types: the database creates
// the ids, only unique indexes exist, and the collation is the default.
const kysely = "CREATE TABLE `User` (`id` varchar(36) PRIMARY KEY DEFAULT (uuid()), `name` varchar(255), `email` varchar(255) UNIQUE, `emailVerified` datetime(3), `image` varchar(2048));\n" +
	"CREATE TABLE `Account` (`id` varchar(36) PRIMARY KEY DEFAULT (uuid()), `userId` varchar(36) NOT NULL, `type` varchar(255) NOT NULL, `provider` varchar(255) NOT NULL, " +
	"`providerAccountId` varchar(255) NOT NULL, `refresh_token` longtext, `access_token` longtext, `expires_at` bigint, `token_type` varchar(255), `scope` text, `id_token` longtext, " +
	"`session_state` text, FOREIGN KEY (`userId`) REFERENCES `User` (`id`) ON DELETE CASCADE);\n" +
	"CREATE TABLE `Session` (`id` varchar(36) PRIMARY KEY DEFAULT (uuid()), `userId` varchar(36) NOT NULL, `sessionToken` varchar(255) NOT NULL UNIQUE, `expires` datetime(3) NOT NULL, " +
	"FOREIGN KEY (`userId`) REFERENCES `User` (`id`) ON DELETE CASCADE);\n" +
	"CREATE TABLE `VerificationToken` (`identifier` varchar(255) NOT NULL, `token` varchar(255) NOT NULL UNIQUE, `expires` datetime(3) NOT NULL);\n"

// prismaToday is Prisma's result for the models that Auth.js documents today, except
// that addresses may be absent. Accounts and sessions have no ids, and updatedAt must
// be given.
const prismaToday = "CREATE TABLE `User` (`id` VARCHAR(191) NOT NULL, `name` VARCHAR(191) NULL, `email` VARCHAR(191) NULL, `emailVerified` DATETIME(3) NULL, `image` VARCHAR(191) NULL, " +
	"`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL, UNIQUE INDEX `User_email_key`(`email`), PRIMARY KEY (`id`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `Account` (`userId` VARCHAR(191) NOT NULL, `type` VARCHAR(191) NOT NULL, `provider` VARCHAR(191) NOT NULL, `providerAccountId` VARCHAR(191) NOT NULL, " +
	"`refresh_token` TEXT NULL, `access_token` TEXT NULL, `expires_at` INTEGER NULL, `token_type` VARCHAR(191) NULL, `scope` VARCHAR(191) NULL, `id_token` TEXT NULL, `session_state` VARCHAR(191) NULL, " +
	"`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL, PRIMARY KEY (`provider`, `providerAccountId`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `Session` (`sessionToken` VARCHAR(191) NOT NULL, `userId` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL, " +
	"`createdAt` DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), `updatedAt` DATETIME(3) NOT NULL, UNIQUE INDEX `Session_sessionToken_key`(`sessionToken`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"CREATE TABLE `VerificationToken` (`identifier` VARCHAR(191) NOT NULL, `token` VARCHAR(191) NOT NULL, `expires` DATETIME(3) NOT NULL, PRIMARY KEY (`identifier`, `token`)) DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;\n" +
	"ALTER TABLE `Account` ADD CONSTRAINT `Account_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;\n" +
	"ALTER TABLE `Session` ADD CONSTRAINT `Session_userId_fkey` FOREIGN KEY (`userId`) REFERENCES `User`(`id`) ON DELETE CASCADE ON UPDATE CASCADE;\n"

// numbered has ids counted by the database, binary keys, no foreign keys and the names
// of preset authjs.
const numbered = "CREATE TABLE users (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(255), email VARBINARY(255) UNIQUE, emailVerified DATETIME(3), image TEXT);\n" +
	"CREATE TABLE accounts (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, userId INT UNSIGNED NOT NULL, type VARCHAR(255) NOT NULL, provider VARBINARY(255) NOT NULL, providerAccountId VARBINARY(255) NOT NULL, " +
	"refresh_token MEDIUMTEXT, access_token MEDIUMTEXT, expires_at BIGINT, token_type TEXT, scope TEXT, id_token MEDIUMTEXT, session_state TEXT);\n" +
	"CREATE TABLE sessions (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, userId INT UNSIGNED NOT NULL, sessionToken VARBINARY(255) NOT NULL, expires DATETIME(3) NOT NULL);\n" +
	"CREATE TABLE verification_token (identifier VARBINARY(255) NOT NULL, token VARBINARY(255) NOT NULL, expires DATETIME(3) NOT NULL, PRIMARY KEY (identifier, token));\n"

func TestAdapterOnOtherTables(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		schema  string
		options Options
		limits  adaptertest.Limits
	}{
		"Prisma":            {prisma, Options{}, adaptertest.Limits{Expiry: 1<<31 - 1, LooseText: true, Token: 1<<16 - 1}},
		"Prisma of today":   {prismaToday, Options{}, adaptertest.Limits{Expiry: 1<<31 - 1, LooseText: true, Token: 1<<16 - 1}},
		"Kysely":            {kysely, Options{}, adaptertest.Limits{LooseText: true}},
		"numbers and bytes": {numbered, Options{Naming: Naming{Preset: "authjs"}}, adaptertest.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := template(t, c.options, c.schema)
			adaptertest.Run(t, func(t *testing.T) adapter.Adapter {
				s := opened(t, fresh(t), c.options, sqladapter.TestHooks{})
				s.Limit = c.limits
				return s
			})
		})
	}
}

// TestCoarseTimes checks that times are truncated to the precision of their column,
// since the database might round them up. TIMESTAMP columns hold UTC whatever the
// server's time zone.
func TestCoarseTimes(t *testing.T) {
	t.Parallel()
	for kind, unit := range map[string]time.Duration{"DATETIME": time.Second, "DATETIME(1)": 100 * time.Millisecond,
		"TIMESTAMP": time.Second, "TIMESTAMP(3)": time.Millisecond, "DATETIME(6)": time.Millisecond} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			null := kind + " NULL" // otherwise a TIMESTAMP gets a default
			s := opened(t, testDatabase.With(t, strings.ReplaceAll(strings.ReplaceAll(prisma, "DATETIME(3) NULL", null), "DATETIME(3)", kind)), Options{Migrate: true}, sqladapter.TestHooks{})
			issued := time.Date(2030, 7, 1, 12, 30, 59, 999e6, time.UTC)
			rec := adapter.SessionRecord{ID: "s", SessionToken: "t", Digest: "d", Expires: issued}
			u, err := s.SignUp(t.Context(), adapter.User{ID: "u", Email: "a@b.c", EmailVerified: issued}, nil, &rec, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			got, user, err := s.GetSession(t.Context(), "t", "d")
			if err != nil || !got.Expires.Equal(issued.Truncate(unit)) || !user.EmailVerified.Equal(issued.Truncate(unit)) {
				t.Errorf("stored %v and %v, %v", got.Expires, user.EmailVerified, err)
			}
			if !rec.Expires.Equal(got.Expires) || !u.EmailVerified.Equal(user.EmailVerified) {
				t.Errorf("returned %v and %v, stored %v and %v", rec.Expires, u.EmailVerified, got.Expires, user.EmailVerified)
			}
			link := adapter.VerificationToken{Identifier: "a@b.c", Token: "link", Expires: issued}
			if err := s.PutToken(t.Context(), link, adapter.Mail{ID: "link", Due: issued, Expires: issued}, 10); err != nil {
				t.Fatal(err)
			}
			if link, _, err = s.TakeToken(t.Context(), "a@b.c", "link", time.Now()); err != nil || !link.Expires.Equal(issued.Truncate(unit)) {
				t.Errorf("link until %v, %v", link.Expires, err)
			}
		})
	}
}
