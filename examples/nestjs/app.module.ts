import { Module } from '@nestjs/common'
import { LazaretModule } from 'lazaret/nest'
import { openSqlite } from 'lazaret/sqlite'
import { OrdersService } from './orders.service.ts'
import { Warehouse } from './warehouse.ts'

@Module({
  imports: [
    LazaretModule.forRootAsync({
      useFactory: () => ({
        store: openSqlite({ path: process.env['SHOP_DB'] ?? 'shop.db' }),
        consumers: { graceMs: 5_000 },
      }),
    }),
  ],
  providers: [OrdersService, Warehouse],
})
export class AppModule {}
